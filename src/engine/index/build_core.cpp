#include "engine/index/build_core.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "engine/index/host_device.hpp"
#include "engine/stop.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {

namespace {

std::vector<column_type> types_of(const table_version& table, const index_spec& spec) {
  std::vector<column_type> types;
  for (const std::size_t c : spec.columns) types.push_back(table.columns()[c].type);
  return types;
}

key_encoder::columns_of_rows data_of(const table_version& table, const index_spec& spec) {
  key_encoder::columns_of_rows data;
  for (const std::size_t c : spec.columns) data.push_back(table.data(c));
  return data;
}

[[noreturn]] void refuse_kind(const table_version& table, const index_spec& spec) {
  throw error(
      fmt::format("index \"{}\": the keys {} do not fit 64 bits, which USING {} needs; create it USING radix or "
                  "auto.",
                  spec.name, column_names(table, spec), to_string(spec.kind)));
}

/// Returns whether a static tree of these keys fits the free GPU memory, with space for results.
bool fits_device(const table_version& table, const key_encoder& encoder, const device& where) {
  const std::size_t word = encoder.form() == key_form::word32 ? 4 : 8;
  return where.kind() == device_kind::cpu || table.live_rows() * word * 5 / 4 < where.memory().free / 2;
}

index_kind choose(const table_version& table, const index_spec& spec, const key_encoder& encoder, const device& where) {
  if (encoder.form() == key_form::bytes) return index_kind::radix;
  if (spec.kind != index_kind::automatic) return spec.kind;
  if (!fits_device(table, encoder, where)) return index_kind::hybrid;
  return spec.unique && table.rows() == 0 ? index_kind::blink : index_kind::static_tree;
}

std::shared_ptr<const key_encoder> plan_keys(const table_version& table, const index_spec& spec, bool again) {
  const auto types = types_of(table, spec);
  const auto data = data_of(table, spec);
  if (spec.kind != index_kind::radix) {
    if (auto words = key_encoder::plan(types, data, true)) return words;
    if (spec.kind != index_kind::automatic && !again) refuse_kind(table, spec);
  }
  return key_encoder::plan(types, data, false);
}

// A key in a message; at most 200 bytes, and whole characters of UTF-8.
std::string beginning_of(std::string text) {
  std::size_t end = 200;
  if (text.size() <= end) return text;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

std::string column_names(const table_version& table, const index_spec& spec) {
  std::vector<std::string> names;
  for (const std::size_t c : spec.columns) names.push_back(table.columns()[c].name);
  return fmt::format("({})", fmt::join(names, ", "));
}

void check_spec(const table_version& table, const index_spec& spec) {
  const std::size_t n = table.columns().size();
  if (spec.columns.empty()) throw error(fmt::format("index \"{}\": name at least one column.", spec.name));
  std::set<std::size_t> seen;
  for (const std::size_t c : spec.columns) {
    if (c >= n || !seen.insert(c).second)
      throw error(fmt::format("index \"{}\": each key column is a column of the table, and is named once.", spec.name));
  }
  for (const std::size_t c : spec.included) {
    if (c >= n || !can_summarize(aggregate_function::min, table.columns()[c].type))
      throw error(fmt::format("index \"{}\": included columns are ones with numbers, dates or times.", spec.name));
  }
}

unique_violation violation(const table_version& table, const index_spec& spec, std::uint64_t row) {
  const auto values = table.take(spec.columns, std::span(&row, 1));
  std::vector<std::string> texts;
  for (const auto& column : values->columns()) {
    texts.push_back(beginning_of(column->GetScalar(0).ValueOrDie()->ToString()));
  }
  return {fmt::format("index \"{}\" is unique, and the key {} = ({}) is there already.", spec.name,
                      column_names(table, spec), fmt::join(texts, ", ")),
          row};
}

ordered_keys read_keys(const table_version& table, const index_spec& spec,
                       const std::shared_ptr<const key_encoder>& encoder, const device& where) {
  const auto keys = encoder->encode(data_of(table, spec));
  if (!keys) throw error(fmt::format("index \"{}\": the table has keys that the index cannot hold.", spec.name));
  try {
    return order_rows(encoder, *keys, table, spec.unique, host_of(where));
  } catch (const duplicate_key& twice) {
    throw violation(table, spec, twice.row);
  }
}

namespace {

// Estimates the bytes of keys and rows while they are sorted, which needs two copies.
std::size_t bytes_of_keys(const table_version& table, const index_spec& spec) {
  std::size_t bytes = static_cast<std::size_t>(table.live_rows()) * 2 * sizeof(std::uint64_t);
  for (const std::size_t c : spec.columns) {
    bytes += static_cast<std::size_t>(table.live_rows()) * sizeof(std::uint64_t);
    if (table.columns()[c].type.id != type_id::varchar) continue;
    for (const auto& chunk : table.data(c)->chunks()) {
      bytes += static_cast<std::size_t>(static_cast<const arrow::StringArray&>(*chunk).total_values_length());
    }
  }
  return bytes;
}

}  // namespace

std::unique_ptr<table_index_impl> make_core(index_kind kind, ordered_keys keys, const device& where) {
  switch (kind) {
    case index_kind::blink:
      return make_blink_core(keys, where);
    case index_kind::hybrid:
      return make_hybrid_core(keys, where);
    case index_kind::radix:
      return make_radix_core(std::move(keys), where);
    default:
      return make_static_core(std::move(keys), where);
  }
}

built_core build_core(const table_version& table, const index_spec& spec, const device& where, bool again,
                      const index_progress& tell) {
  const auto done = [&tell](double part) {
    check_cancelled();
    if (tell) tell(part);
  };
  done(0);
  auto encoder = plan_keys(table, spec, again);
  const memory_claim claim(bytes_of_keys(table, spec));
  ordered_keys keys = read_keys(table, spec, encoder, where);
  done(0.6);
  auto core = make_core(choose(table, spec, *encoder, where), std::move(keys), where);
  done(0.9);
  for (const std::size_t c : spec.included) core->prepare_aggregates({table, c});
  built_core out{std::move(encoder), std::move(core)};
  count_memory(out);
  done(1);
  return out;
}

// Counting the memory visits every posting list, so it is done only after the row count has changed by 1/16.
void count_memory(built_core& built) noexcept {
  if (!built.core->is_whole()) return;
  const auto rows = built.core->size();
  const auto change = rows > built.counted_rows ? rows - built.counted_rows : built.counted_rows - rows;
  if (built.memory.bytes() != 0 && change <= built.counted_rows / 16) return;
  try {
    built.memory.set(built.core->bytes());
    built.counted_rows = rows;
  } catch (const std::exception&) {
    // If there is not enough memory to count, the previous figure is kept.
  }
}

}  // namespace espalier::engine
