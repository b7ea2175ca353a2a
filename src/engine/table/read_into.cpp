#include "engine/table/read_into.hpp"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "engine/table/arrow_status.hpp"
#include "engine/table/convert.hpp"
#include "engine/table/read_formats.hpp"
#include "engine/text_values.hpp"

namespace espalier::engine {
namespace {

using name_list = std::vector<std::string>;

std::optional<name_list> names_in_file(const std::filesystem::path& path, file_format format,
                                       const csv_options& options) {
  switch (format) {
    case file_format::csv:
      if (!options.header) return std::nullopt;
      return csv_file_names(path, options);
    case file_format::parquet:
      return parquet_file_names(path);
    case file_format::arrow:
      break;
  }
  return arrow_file_names(path);
}

bool same_in_lower_case(const std::string& a, const std::string& b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::optional<std::size_t> place_by_name(const std::string& name, const std::vector<column>& columns) {
  const auto found = std::ranges::find(columns, name, &column::name);
  if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
  const auto similar = [&](const column& c) { return same_in_lower_case(c.name, name); };
  if (std::ranges::count_if(columns, similar) != 1) return std::nullopt;
  return static_cast<std::size_t>(std::ranges::find_if(columns, similar) - columns.begin());
}

// Maps each column of the file to one of `columns`; every one of them has to occur once.
std::vector<std::size_t> places_by_name(const name_list& names, const std::vector<column>& columns,
                                        const std::filesystem::path& path) {
  std::vector<std::size_t> places;
  for (const auto& name : names) {
    const auto place = place_by_name(name, columns);
    if (!place) {
      throw error(fmt::format("'{}' has a column '{}' that the table does not take: remove or rename it.",
                              path.string(), name));
    }
    if (std::ranges::find(places, *place) != places.end()) {
      throw error(
          fmt::format("'{}' has the column '{}' twice: rename one of them.", path.string(), columns[*place].name));
    }
    places.push_back(*place);
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (std::ranges::find(places, i) == places.end()) {
      throw error(fmt::format("'{}' has no column '{}', which the table has: add it to the file.", path.string(),
                              columns[i].name));
    }
  }
  return places;
}

// Loading by position would silently swap values.
void require_no_other_order(const name_list& names, const std::vector<column>& columns,
                            const std::filesystem::path& path) {
  name_list wanted;
  for (const auto& c : columns) wanted.push_back(c.name);
  if (names == wanted || !std::ranges::is_permutation(names, wanted)) return;
  throw error(
      fmt::format("'{}' names the columns of the table in another order: add the option by_name, or list the columns "
                  "in the order of the file.",
                  path.string()));
}

csv_options with_columns(csv_options options, const std::vector<column>& columns) {
  options.names.clear();
  for (const auto& c : columns) {
    options.names.push_back(c.name);
    options.types[c.name] = c.type;
  }
  return options;
}

// Arrow's CSV reader accepts times with a zone only if it infers the type.
std::shared_ptr<arrow::Table> read_with_zones(const std::string& files, const csv_options& options,
                                              const std::vector<column>& columns, const progress& tell) {
  auto guessed = options;
  for (const auto& c : columns) {
    if (c.type.id == type_id::timestamp) guessed.types.erase(c.name);
  }
  if (guessed.types.size() == options.types.size()) return nullptr;
  auto rows = read_table(files, file_format::csv, guessed, tell);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool is_free = !guessed.types.contains(columns[i].name);
    if (is_free && rows->column(static_cast<int>(i))->type()->id() != arrow::Type::TIMESTAMP) return nullptr;
  }
  return rows;
}

// Converts texts by `read`; returns null if one of them is invalid.
template <class Builder, class Read>
std::shared_ptr<arrow::ChunkedArray> read_texts(const arrow::ChunkedArray& texts, const column_type& to,
                                                const Read& read) {
  const auto type = arrow_type(to);
  arrow::ArrayVector chunks;
  for (const auto& chunk : texts.chunks()) {
    const auto& strings = static_cast<const arrow::StringArray&>(*chunk);
    Builder builder(type, arrow::default_memory_pool());
    for (std::int64_t i = 0; i < strings.length(); ++i) {
      const auto value = strings.IsValid(i) ? read(strings.GetView(i)) : std::nullopt;
      if (strings.IsValid(i) && !value) return nullptr;
      require_ok(value ? builder.Append(*value) : builder.AppendNull(), "Dates cannot be read");
    }
    chunks.push_back(value_of(builder.Finish(), "Dates cannot be read"));
  }
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks), type);
}

// Arrow's CSV reader supports four-digit years only, so dates and timestamps are read in the same way as CAST.
std::shared_ptr<arrow::Table> read_dates_as_text(const std::string& files, const csv_options& options,
                                                 const std::vector<column>& columns, const progress& tell) {
  auto as_text = options;
  bool any = false;
  for (const auto& c : columns) {
    if (c.type.id != type_id::date && c.type.id != type_id::timestamp) continue;
    as_text.types[c.name] = column_type{type_id::varchar};
    any = true;
  }
  if (!any) return nullptr;
  auto rows = read_table(files, file_format::csv, as_text, tell);
  if (static_cast<std::size_t>(rows->num_columns()) != columns.size()) return nullptr;
  for (int i = 0; i < rows->num_columns(); ++i) {
    const auto& type = columns[static_cast<std::size_t>(i)].type;
    if (type.id != type_id::date && type.id != type_id::timestamp) continue;
    auto dates = type.id == type_id::date ? read_texts<arrow::Date32Builder>(*rows->column(i), type, date_in)
                                          : read_texts<arrow::TimestampBuilder>(*rows->column(i), type, timestamp_in);
    if (!dates) return nullptr;
    rows = value_of(rows->SetColumn(i, rows->field(i)->WithType(dates->type()), dates), "Dates cannot be read");
  }
  return rows;
}

std::shared_ptr<arrow::Table> read_csv_into(const std::string& files, const csv_options& options,
                                            const std::vector<column>& columns, const progress& tell) {
  const auto typed = with_columns(options, columns);
  try {
    return read_table(files, file_format::csv, typed, tell);
  } catch (const error&) {
    for (const auto& other_way : {read_with_zones, read_dates_as_text}) {
      try {
        if (auto rows = other_way(files, typed, columns, tell)) return rows;
      } catch (const error&) {  // the first error describes the cause
      }
    }
    throw;
  }
}

// Reads columns by position.
std::shared_ptr<arrow::Table> read_in_order(const std::string& files, file_format format, const csv_options& options,
                                            const std::vector<column>& columns, const progress& tell) {
  const auto rows = format == file_format::csv ? read_csv_into(files, options, columns, tell)
                                               : read_table(files, format, options, tell);
  if (static_cast<std::size_t>(rows->num_columns()) != columns.size()) {
    throw error(fmt::format("'{}' has {} columns, not the {} that the table takes.", files, rows->num_columns(),
                            columns.size()));
  }
  return converted(rows, columns);
}

std::shared_ptr<arrow::Table> read_by_name(const std::filesystem::path& path, file_format format,
                                           const csv_options& options, const std::vector<column>& columns,
                                           const progress& tell) {
  const auto names = names_in_file(path, format, options);
  if (!names) throw error(fmt::format("'{}' has no header: its columns can be taken by position only.", path.string()));
  const auto places = places_by_name(*names, columns, path);
  std::vector<column> in_file;
  std::vector<int> back(columns.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    in_file.push_back(columns[places[i]]);
    back[places[i]] = static_cast<int>(i);
  }
  const auto rows = read_in_order(path.string(), format, options, in_file, tell);
  return value_of(rows->SelectColumns(back), fmt::format("'{}' cannot be read", path.string()));
}

}  // namespace

std::shared_ptr<arrow::Table> read_into(const std::vector<column>& columns, const std::string& path_or_glob,
                                        file_format format, const csv_options& options, column_match match,
                                        const progress& tell) {
  const auto paths = matching_files(path_or_glob);
  if (match == column_match::by_position) {
    for (const auto& path : paths) {
      if (const auto names = names_in_file(path, format, options)) require_no_other_order(*names, columns, path);
    }
    return read_in_order(path_or_glob, format, options, columns, tell);
  }
  std::vector<std::shared_ptr<arrow::Table>> tables;
  for (const auto& path : paths) tables.push_back(read_by_name(path, format, options, columns, tell));
  return value_of(arrow::ConcatenateTables(tables), fmt::format("'{}' cannot be read", path_or_glob));
}

}  // namespace espalier::engine
