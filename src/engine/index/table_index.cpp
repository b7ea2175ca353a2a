#include "engine/index/table_index.hpp"

#include <arrow/table.h>
#include <fmt/format.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "engine/index/build_core.hpp"
#include "engine/index/merged_keys.hpp"
#include "engine/memory_budget.hpp"
#include "engine/stop.hpp"
#include "engine/store/sections.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {

// A deferred index has a spec only; the first use of anything else opens it. A loaded index has validated keys and no
// tree; the first query or change builds it. Until then `is_made` is false, and `saved` has the properties of the
// index.
struct table_index::parts {
  parts(index_spec s, table_ptr t, const device& d, built_core b)
      : spec(std::move(s)), table(std::move(t)), where(d), built(std::move(b)) {}

  index_spec spec;
  table_ptr table;
  device where;
  built_core built;
  ordered_keys keys;  // keys of a tree that is not built yet
  struct {
    index_kind kind = index_kind::automatic;
    std::uint64_t rows = 0, null_rows = 0;
  } saved;
  opener open;  // of an index that is not open yet
  std::atomic<bool> is_open = true;
  std::atomic<bool> is_made = true;
  std::mutex making;

  parts& opened() {
    if (!is_open.load(std::memory_order_acquire)) open_once();
    return *this;
  }

  void open_once() {
    const std::scoped_lock lock(making);
    if (is_open.load(std::memory_order_relaxed)) return;
    std::unique_ptr<table_index> index;
    tbb::this_task_arena::isolate([&] { index = open(table); });  // as in make_core_once
    auto& from = *index->parts_;
    built = std::move(from.built);
    keys = std::move(from.keys);
    saved = from.saved;
    is_made.store(from.is_made.load(std::memory_order_relaxed), std::memory_order_release);
    open = nullptr;
    is_open.store(true, std::memory_order_release);
  }

  void make_later(index_kind kind, ordered_keys from) {
    saved = {kind, from.rows.size(), from.null_rows};
    keys = std::move(from);
    is_made = false;
  }

  [[nodiscard]] table_index_impl& core() {
    opened();
    if (!is_made.load(std::memory_order_acquire)) make_core_once();
    return *built.core;
  }

  void make_core_once() {
    const std::scoped_lock lock(making);
    if (is_made.load(std::memory_order_relaxed)) return;
    const memory_claim claim(24 * keys.rows.size() + keys.strings.bytes.size());  // throws before the tree is built
    // The build is isolated: a thread that waits for a part of it must not execute an iteration of an enclosing loop,
    // which may query this index and deadlock.
    tbb::this_task_arena::isolate([&] { built.core = make_core(saved.kind, keys, where); });
    keys = {};
    count_memory(built);
    is_made.store(true, std::memory_order_release);
    check_cancelled();  // from now on it counts towards the statement's memory limit
  }

  void require_own(const range_batch& ranges) const {
    if (ranges.size() != 0 && ranges.encoder != built.encoder)
      throw error(
          fmt::format("index \"{}\": the ranges were made for another index, or before it changed; make them "
                      "again.",
                      spec.name));
  }

  [[nodiscard]] const table_index_impl& asked(const range_batch& ranges) {
    opened().require_own(ranges);
    return core();
  }

  // The planner asks all candidate indexes for counts and uses one of them; the others answer from their keys, without
  // building a tree.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> counts_without_tree(const range_batch& ranges) {
    if (is_made.load(std::memory_order_acquire)) return std::nullopt;
    const std::scoped_lock lock(making);
    if (is_made.load(std::memory_order_relaxed)) return std::nullopt;
    return counts_in(keys, ranges);
  }
};

/// Either a change of the existing core or a new core that replaces it; after the commit, the replaced core.
struct index_change::state {
  std::shared_ptr<const table_version> now;
  std::unique_ptr<core_change> change;
  built_core instead;
  std::unique_ptr<state> earlier;  // in the chain of an index_undo

  [[nodiscard]] bool replaces() const noexcept { return !change; }
};

// Only the changes that are needed to restore the first state are kept: none after a replaced core, and only the first
// change of a core whose undo covers later ones. Intermediate table versions would keep their rows in memory.
struct index_undo::state {
  table_index* index = nullptr;
  std::shared_ptr<const table_version> table;
  std::unique_ptr<index_change::state> last;

  ~state() {
    while (last) last = std::move(last->earlier);  // iterative, since the chain may have a million elements
  }
  [[nodiscard]] bool needs(const index_change::state& next) const noexcept {
    if (!last) return true;
    if (last->replaces()) return false;
    return next.replaces() || !last->change->undoes_later_changes();
  }
};

index_undo::index_undo() : state_(std::make_unique<state>()) {}
index_undo::index_undo(index_undo&&) noexcept = default;
index_undo& index_undo::operator=(index_undo&&) noexcept = default;
index_undo::~index_undo() = default;

void index_undo::undo() noexcept {
  if (!state_->index) return;
  auto& parts = *state_->index->parts_;
  while (auto& last = state_->last) {
    if (last->replaces()) {
      std::swap(parts.built, last->instead);
    } else {
      last->change->undo();
    }
    last = std::move(last->earlier);
  }
  parts.table = std::move(state_->table);
  state_->index = nullptr;
}

index_change::index_change(std::unique_ptr<state> s) : state_(std::move(s)) {}
index_change::index_change(index_change&&) noexcept = default;
index_change& index_change::operator=(index_change&&) noexcept = default;
index_change::~index_change() = default;

std::string to_string(index_kind kind) {
  switch (kind) {
    case index_kind::static_tree:
      return "static";
    case index_kind::blink:
      return "blink";
    case index_kind::radix:
      return "radix";
    case index_kind::hybrid:
      return "hybrid";
    case index_kind::automatic:
      return "auto";
  }
  return "?";
}

table_index::table_index(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
table_index::~table_index() = default;

std::unique_ptr<table_index> table_index::build(table_ptr table, index_spec spec, const device& where,
                                                const index_progress& tell) {
  check_spec(*table, spec);
  built_core built = build_core(*table, spec, where, false, tell);
  return std::unique_ptr<table_index>(
      new table_index(std::make_unique<parts>(std::move(spec), std::move(table), where, std::move(built))));
}

std::unique_ptr<table_index> table_index::deferred(table_ptr table, index_spec spec, const device& where, opener open) {
  check_spec(*table, spec);
  auto unread = std::make_unique<parts>(std::move(spec), std::move(table), where, built_core{});
  unread->open = std::move(open);
  unread->is_made = false;
  unread->is_open = false;
  return std::unique_ptr<table_index>(new table_index(std::move(unread)));
}

// ---- queries -------------------------------------------------------------------------------------------------------

range_batch table_index::ranges(const key_ranges& shape) const { return parts_->opened().built.encoder->ranges(shape); }

std::vector<std::uint64_t> table_index::counts(const range_batch& ranges) const {
  return parts_->asked(ranges).counts(ranges);
}

std::vector<std::uint64_t> table_index::estimates(const range_batch& ranges) const {
  parts_->opened().require_own(ranges);
  if (auto counts = parts_->counts_without_tree(ranges)) return std::move(*counts);
  return parts_->core().estimates(ranges);
}

row_lists table_index::rows(const range_batch& ranges, const row_options& options) const {
  return parts_->asked(ranges).rows(ranges, options);
}

bool table_index::gives_keys(const row_options& options) const {
  if (is_built()) return parts_->core().gives_keys(options);
  // The trees behave like this while no changes are pending.
  return kind() == index_kind::static_tree || options.order == key_order::ascending || options.limit == no_limit;
}

std::vector<std::shared_ptr<arrow::Array>> table_index::keys(const range_batch& ranges,
                                                             const row_options& options) const {
  if (!gives_keys(options))
    throw error(fmt::format("index \"{}\": its keys cannot be listed; read the rows.", spec().name));
  return parts_->built.encoder->decode(parts_->asked(ranges).keys(ranges, options));
}

row_lists table_index::find(const std::vector<std::shared_ptr<arrow::Array>>& keys) const {
  key_ranges shape;
  shape.equal = keys;
  return rows(ranges(shape));
}

std::shared_ptr<arrow::Array> table_index::aggregate(aggregate_function f, std::size_t column,
                                                     const range_batch& ranges) const {
  if (!can_aggregate(f, column))
    throw error(
        fmt::format("index \"{}\": column {} has no such aggregate; read the rows.", parts_->spec.name, column));
  return parts_->asked(ranges).aggregate(f, {*parts_->table, column}, ranges);
}

std::vector<std::uint64_t> table_index::as_of(const as_of_question& question) const {
  key_ranges shape{question.equal, key_condition::between, nullptr, nullptr, true, true};
  (question.earlier ? shape.hi : shape.lo) = question.at;
  (question.earlier ? shape.hi_inclusive : shape.lo_inclusive) = !question.strict;
  return parts_->core().edge(ranges(shape), question.earlier);
}

std::vector<std::uint64_t> table_index::ordered_rows(key_order order, std::uint64_t offset, std::uint64_t limit) const {
  return parts_->core().ordered_rows(order, offset, limit);
}

// ---- changes -------------------------------------------------------------------------------------------------------

namespace {

/// Returns the rows with their keys, or nothing if a key cannot be encoded.
std::optional<keyed_rows> keyed(const table_version& table, const index_spec& spec, const key_encoder& encoder,
                                std::span<const std::uint64_t> rows) {
  const auto values = table.take(spec.columns, rows);
  auto keys = encoder.encode(values->columns());
  if (!keys) return std::nullopt;
  return keyed_rows{std::move(*keys), {rows.begin(), rows.end()}};
}

}  // namespace

index_change table_index::prepare(table_ptr now, std::span<const std::uint64_t> erased,
                                  std::span<const std::uint64_t> inserted) {
  const index_spec& spec = parts_->spec;
  table_index_impl& core = parts_->core();
  const key_encoder& encoder = *parts_->built.encoder;
  auto next = std::make_unique<index_change::state>();
  next->now = std::move(now);
  const auto out = keyed(*next->now, spec, encoder, erased);
  const auto in = keyed(*next->now, spec, encoder, inserted);
  if (!out) throw error(fmt::format("index \"{}\": rows to erase have keys that are not in it.", spec.name));
  // A table that one statement fills is treated as a bulk load, and `auto` chooses the kind again.
  const bool filled = spec.kind == index_kind::automatic && kind() == index_kind::blink &&
                      inserted.size() > std::max<std::uint64_t>(1024, rows_indexed());
  try {
    if (in && !filled) next->change = core.prepare(*out, *in, spec.unique);
  } catch (const duplicate_key& twice) {
    throw violation(*next->now, spec, twice.row);
  }
  if (!next->change) next->instead = build_core(*next->now, spec, parts_->where, true, {});
  return index_change(std::move(next));
}

void table_index::put_in_place(index_change::state& next) noexcept {
  if (next.change) {
    next.change->commit();
    count_memory(parts_->built);
  } else {
    std::swap(parts_->built, next.instead);
  }
  parts_->table = std::move(next.now);
}

void table_index::commit(index_change change) noexcept { put_in_place(*change.state_); }

void table_index::commit(index_change change, index_undo& undo) noexcept {
  auto& log = *undo.state_;
  if (!log.index) {
    log.index = this;
    log.table = parts_->table;
  }
  const bool needed = log.needs(*change.state_);
  put_in_place(*change.state_);
  if (!needed) return;
  change.state_->earlier = std::move(log.last);
  log.last = std::move(change.state_);
}

// ---- about the index -----------------------------------------------------------------------------------------------

const index_spec& table_index::spec() const noexcept { return parts_->spec; }
bool table_index::is_whole() const noexcept { return !parts_->is_made || parts_->built.core->is_whole(); }
index_kind table_index::kind() const {
  const auto& open = parts_->opened();
  return open.is_made ? open.built.core->kind() : open.saved.kind;
}
bool table_index::has_ranks() const { return kind() == index_kind::static_tree || kind() == index_kind::radix; }
const device& table_index::get_device() const noexcept { return parts_->where; }
std::uint64_t table_index::rows_indexed() const {
  const auto& open = parts_->opened();
  return open.is_made ? open.built.core->size() : open.saved.rows;
}
std::uint64_t table_index::null_rows() const {
  const auto& open = parts_->opened();
  return open.is_made ? open.built.core->null_rows() : open.saved.null_rows;
}
bool table_index::is_open() const noexcept { return parts_->is_open.load(std::memory_order_acquire); }
void table_index::open() const { parts_->opened(); }
bool table_index::is_built() const noexcept { return parts_->is_made.load(std::memory_order_acquire); }
std::size_t table_index::bytes() const {
  parts_->opened();
  const std::scoped_lock lock(parts_->making);
  if (is_built()) return parts_->built.core->bytes();
  const auto& keys = parts_->keys;
  return keys.words.bytes() + keys.strings.bytes.size() + 8 * keys.strings.offsets.size() + keys.starts.bytes() +
         keys.rows.bytes();
}

bool table_index::can_aggregate(aggregate_function f, std::size_t column) const {
  const auto& columns = parts_->table->columns();
  return column < columns.size() && can_summarize(f, columns[column].type);
}

std::string table_index::explain() const {
  if (!is_built()) {
    return fmt::format("{} index \"{}\" over {}: {} rows, not built yet, on {}", to_string(kind()), spec().name,
                       column_names(*parts_->table, spec()), rows_indexed(), get_device().name());
  }
  return fmt::format("{} index \"{}\" over {}: {} rows, {}, {:.1f} MB, on {}", to_string(kind()), spec().name,
                     column_names(*parts_->table, spec()), rows_indexed(), parts_->core().explain(),
                     static_cast<double>(bytes()) / 1e6, get_device().name());
}

namespace {

/// Reports the first position at which the rows of the index and of the sorted table differ.
std::string difference(const std::vector<std::uint64_t>& rows, const number_array& expected) {
  if (rows.size() != expected.size())
    return fmt::format("the index has {} rows and the table {}", rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != expected[i])
      return fmt::format("place {} of the index has row {} and not {}", i, rows[i], expected[i]);
  }
  return {};
}

}  // namespace

std::string table_index::validate() const {
  try {
    if (std::string problem = parts_->core().validate(); !problem.empty()) return problem;
    const ordered_keys keys = read_keys(*parts_->table, spec(), parts_->built.encoder, get_device());
    return difference(ordered_rows(key_order::ascending), keys.rows);
  } catch (const error& problem) {
    return problem.what();
  }
}

// ---- files ---------------------------------------------------------------------------------------------------------

void table_index::save(section_writer& to) const {
  to.add_text("kind", to_string(kind()));
  auto keys = parts_->core().content();
  save_keys(keys ? *keys : read_keys(*parts_->table, spec(), parts_->built.encoder, get_device()), to);
}

std::string table_index::layout() const {
  const key_encoder& encoder = *parts_->opened().built.encoder;
  std::string text = fmt::format("{} {}", to_string(kind()), static_cast<int>(encoder.form()));
  for (const key_field& f : encoder.fields()) {
    text += fmt::format(" ({} {} {} {} {} {} {})", static_cast<int>(f.type.id), f.type.precision, f.type.scale,
                        f.has_null, f.base, f.bits, f.shift);
  }
  return text;
}

std::unique_ptr<table_index> table_index::load(table_ptr table, index_spec spec,
                                               std::shared_ptr<const mapped_sections> from, const device& where,
                                               std::optional<row_counts> covers) {
  check_spec(*table, spec);
  const std::string_view name = from->get_text("kind");
  const row_counts covered = covers.value_or(table->counts());
  ordered_keys keys = load_keys(from, *table, covered, spec.columns);
  if (covered != table->counts()) {
    auto merged = merged_keys(keys, *table, covered.rows, spec.columns);
    if (!merged) return nullptr;
    keys = std::move(*merged);
  }
  if (spec.unique && has_duplicates(keys)) throw damaged_file(from->path(), "has a key twice in a unique index");
  const bool words = keys.encoder->form() != key_form::bytes;
  for (const auto kind : {index_kind::static_tree, index_kind::blink, index_kind::hybrid, index_kind::radix}) {
    if (to_string(kind) != name || words != (kind != index_kind::radix)) continue;
    auto loaded = std::make_unique<parts>(std::move(spec), std::move(table), where, built_core{keys.encoder, nullptr});
    loaded->make_later(kind, std::move(keys));
    return std::unique_ptr<table_index>(new table_index(std::move(loaded)));
  }
  throw damaged_file(from->path(), "has an index of a kind that does not go with its keys");
}

}  // namespace espalier::engine
