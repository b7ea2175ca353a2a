// sample_states.hpp - a few states of a database, and how one of them reads as text.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "engine/store/store.hpp"
#include "support/engine_rows.hpp"

namespace espalier::test {

inline engine::saved_index sample_index(const std::string& name, std::uint64_t content) {
  return {name, "{\"columns\":[1]}", content, [content](engine::section_writer& to) {
            const std::vector<std::uint64_t> numbers(100 + content, content);
            to.add_text("about", "index number " + std::to_string(content));
            to.add_array<std::uint64_t>("numbers", numbers);
            to.add("nothing", {});
          }};
}

/// What the file of an index covers, where rows have changed since.
inline std::string text_of(const std::optional<engine::row_counts>& covers) {
  return covers ? " of " + std::to_string(covers->live) + " of " + std::to_string(covers->rows) + " rows" : "";
}

/// Rows, deleted flags, specs and index contents of a state, to compare with another.
inline std::string text_of(const std::string& name, const std::string& about, const engine::table_version& rows) {
  std::string text = name + " " + about + "\n";
  for (const auto& c : rows.columns())
    text += c.name + " " + engine::sql_name(c.type) + (c.nullable ? "\n" : " NOT NULL\n");
  const auto all = rows.all_rows();
  for (std::uint64_t i = 0; i < rows.rows(); ++i) {
    text += rows.is_deleted(i) ? "-" : "+";
    for (const auto& value : row_as_text(*all, static_cast<std::int64_t>(i))) text += value + "|";
    text += "\n";
  }
  return text;
}

inline std::string text_of(const std::vector<engine::loaded_table>& tables) {
  std::string text;
  for (const auto& table : tables) {
    if (!table.rows) {
      text += table.problem + "\n";
      continue;
    }
    text += text_of(table.name, table.about, *table.rows);
    for (const auto& index : table.indexes) {
      text += "index " + index.name + " " + index.spec + " ";
      text += index.sections ? std::string(index.sections->get_text("about")) : "to be built";
      text += text_of(index.covers) + "\n";
    }
  }
  return text;
}

inline std::string text_of(const std::vector<engine::saved_table>& tables) {
  std::string text;
  for (const auto& table : tables) {
    text += text_of(table.name, table.about, *table.rows);
    for (const auto& index : table.indexes) {
      text += "index " + index.name + " " + index.spec + " ";
      text += index.save ? "index number " + std::to_string(index.content) : "to be built";
      const bool needs_rebuild = index.covers && *index.covers != table.rows->counts();
      text += (needs_rebuild ? text_of(index.covers) : "") + "\n";
    }
  }
  return text;
}

inline std::string text_in(const std::filesystem::path& folder) {
  return text_of(engine::store::open(folder)->tables());
}

inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// Two tables, one with deleted rows and NULLs of all types, and indexes with and without a file.
inline std::vector<engine::saved_table> first_state() {
  auto orders = engine::table_version::from(random_rows(100, 1));
  orders = orders->appended(random_rows(7, 2));
  const std::vector<std::uint64_t> gone = {3, 99, 105};
  orders = orders->erased(gone);
  const auto empty = engine::table_version::empty(
      {{"a", engine::decimal_type(12, 2), false}, {"b", {engine::type_id::varchar}, true}});
  return {{"orders", "{}", orders, {sample_index("by_a", 1), {"by_b", "spec", 2, {}}}},
          {"empty", "nothing", empty, {}}};
}

/// What a statement could make of the first state: rows added and gone, an index changed, a table dropped, one made.
inline std::vector<engine::saved_table> second_state(const std::vector<engine::saved_table>& first) {
  auto next = first;
  const std::vector<std::uint64_t> gone = {0, 1};
  next[0].rows = next[0].rows->appended(random_rows(3, 9))->erased(gone);
  next[0].indexes = {sample_index("by_a", 3), sample_index("by_b", 4)};
  next[1] = {"made", "", engine::table_version::from(random_rows(5, 10)), {}};
  return next;
}

}  // namespace espalier::test
