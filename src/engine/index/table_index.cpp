#include "engine/index/table_index.hpp"

#include <arrow/table.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/index/build_core.hpp"
#include "engine/stop.hpp"
#include "engine/store/sections.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {

struct table_index::parts {
  index_spec spec;
  table_ptr table;
  device where;
  built_core built;

  [[nodiscard]] const index_core& asked(const range_batch& ranges) const {
    if (ranges.size() != 0 && ranges.encoder != built.encoder)
      throw error(
          fmt::format("index \"{}\": the ranges were made for another index, or before it changed; make them "
                      "anew.",
                      spec.name));
    return *built.core;
  }
};

/// Either a change of the index that is there, or another index in its place; once committed, the index before.
struct index_change::state {
  std::shared_ptr<const table_version> now;
  std::unique_ptr<core_change> change;
  built_core instead;
  std::unique_ptr<state> earlier;  // of an index_undo

  [[nodiscard]] bool replaces() const noexcept { return !change; }
};

// Only what is needed to get back to the beginning is kept: nothing behind a replaced core, and of a core whose changes
// undo later ones the first change. Versions of the table in between would hold their rows in memory.
struct index_undo::state {
  table_index* index = nullptr;
  std::shared_ptr<const table_version> table;
  std::unique_ptr<index_change::state> last;

  ~state() {
    while (last) last = std::move(last->earlier);  // not by recursion: there may be a million
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
      new table_index(std::make_unique<parts>(parts{std::move(spec), std::move(table), where, std::move(built)})));
}

// ---- questions -----------------------------------------------------------------------------------------------------

range_batch table_index::ranges(const key_ranges& shape) const { return parts_->built.encoder->ranges(shape); }

std::vector<std::uint64_t> table_index::counts(const range_batch& ranges) const {
  return parts_->asked(ranges).counts(ranges);
}

std::vector<std::uint64_t> table_index::estimates(const range_batch& ranges) const {
  return parts_->asked(ranges).estimates(ranges);
}

row_lists table_index::rows(const range_batch& ranges, const row_options& options) const {
  return parts_->asked(ranges).rows(ranges, options);
}

bool table_index::gives_keys(const row_options& options) const { return parts_->built.core->gives_keys(options); }

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
  return parts_->built.core->edge(ranges(shape), question.earlier);
}

std::vector<std::uint64_t> table_index::ordered_rows(key_order order, std::uint64_t offset, std::uint64_t limit) const {
  return parts_->built.core->ordered_rows(order, offset, limit);
}

// ---- changes -------------------------------------------------------------------------------------------------------

namespace {

/// The rows with their keys; nothing if the encoder has no code for one.
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
  const auto& [spec, table, where, built] = *parts_;
  auto next = std::make_unique<index_change::state>();
  next->now = std::move(now);
  const auto out = keyed(*next->now, spec, *built.encoder, erased);
  const auto in = keyed(*next->now, spec, *built.encoder, inserted);
  if (!out) throw error(fmt::format("index \"{}\": rows to erase have keys that are not in it.", spec.name));
  // Filled by one statement, a table is one that was loaded: `auto` chooses anew.
  const bool filled = spec.kind == index_kind::automatic && kind() == index_kind::blink &&
                      inserted.size() > std::max<std::uint64_t>(1024, rows_indexed());
  try {
    if (in && !filled) next->change = built.core->prepare(*out, *in, spec.unique);
  } catch (const key_is_there& twice) {
    throw violation(*next->now, spec, twice.row);
  }
  if (!next->change) next->instead = build_core(*next->now, spec, where, true, {});
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

void table_index::rebase(table_ptr now) noexcept { parts_->table = std::move(now); }

// ---- about the index -----------------------------------------------------------------------------------------------

const index_spec& table_index::spec() const noexcept { return parts_->spec; }
bool table_index::is_whole() const noexcept { return parts_->built.core->is_whole(); }
index_kind table_index::kind() const { return parts_->built.core->kind(); }
bool table_index::has_ranks() const { return parts_->built.core->has_ranks(); }
const device& table_index::where() const noexcept { return parts_->where; }
std::uint64_t table_index::rows_indexed() const { return parts_->built.core->size(); }
std::uint64_t table_index::null_rows() const { return parts_->built.core->null_rows(); }
std::size_t table_index::bytes() const { return parts_->built.core->bytes(); }

bool table_index::can_aggregate(aggregate_function f, std::size_t column) const {
  const auto& columns = parts_->table->columns();
  return column < columns.size() && can_summarize(f, columns[column].type);
}

std::string table_index::explain() const {
  return fmt::format("{} index \"{}\" over {}: {} rows, {}, {:.1f} MB, on {}", to_string(kind()), spec().name,
                     column_names(*parts_->table, spec()), rows_indexed(), parts_->built.core->explain(),
                     static_cast<double>(bytes()) / 1e6, where().name());
}

namespace {

/// The first place where the index has another row than the table in order.
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
    if (std::string problem = parts_->built.core->validate(); !problem.empty()) return problem;
    const ordered_keys keys = read_keys(*parts_->table, spec(), parts_->built.encoder, where());
    return difference(ordered_rows(key_order::ascending), keys.rows);
  } catch (const error& problem) {
    return problem.what();
  }
}

// ---- files ---------------------------------------------------------------------------------------------------------

void table_index::save(section_writer& to) const {
  to.add_text("kind", to_string(kind()));
  auto keys = parts_->built.core->content();
  save_keys(keys ? *keys : read_keys(*parts_->table, spec(), parts_->built.encoder, where()), to);
}

std::unique_ptr<table_index> table_index::load(table_ptr table, index_spec spec,
                                               std::shared_ptr<const mapped_sections> from, const device& where) {
  check_spec(*table, spec);
  const std::string_view name = from->get_text("kind");
  ordered_keys keys = load_keys(from, *table, spec.columns);
  if (spec.unique && has_duplicates(keys)) throw damaged_file(from->path(), "has a key twice in a unique index");
  const bool words = keys.encoder->form() != key_form::bytes;
  for (const auto kind : {index_kind::static_tree, index_kind::blink, index_kind::hybrid, index_kind::radix}) {
    if (to_string(kind) != name || words != (kind != index_kind::radix)) continue;
    auto encoder = keys.encoder;
    built_core built{std::move(encoder), make_core(kind, std::move(keys), where)};
    count_memory(built);
    check_stop();
    return std::unique_ptr<table_index>(
        new table_index(std::make_unique<parts>(parts{std::move(spec), std::move(table), where, std::move(built)})));
  }
  throw damaged_file(from->path(), "has an index of a kind that does not go with its keys");
}

}  // namespace espalier::engine
