// read.cpp - reads one or several files into one table: globs, formats, and consistency of their columns.
#include "engine/table/read.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "engine/parallel.hpp"
#include "engine/table/arrow_status.hpp"
#include "engine/table/convert.hpp"
#include "engine/table/read_formats.hpp"
#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {
namespace {

using arrow_types = std::map<std::string, std::shared_ptr<arrow::DataType>>;
using table_list = std::vector<std::shared_ptr<arrow::Table>>;

struct ending_of_format {
  std::string_view ending;
  file_format format;
};

constexpr std::array file_endings = {
    ending_of_format{".csv", file_format::csv},       ending_of_format{".tsv", file_format::csv},
    ending_of_format{".txt", file_format::csv},       ending_of_format{".parquet", file_format::parquet},
    ending_of_format{".pq", file_format::parquet},    ending_of_format{".arrow", file_format::arrow},
    ending_of_format{".feather", file_format::arrow}, ending_of_format{".ipc", file_format::arrow},
};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::shared_ptr<arrow::Table> read_one(const std::filesystem::path& path, file_format format,
                                       const csv_options& options, const arrow_types& types, const progress& tell) {
  switch (format) {
    case file_format::csv:
      return read_csv_file(path, options, types, tell);
    case file_format::parquet:
      return read_parquet_file(path, tell);
    case file_format::arrow:
      break;
  }
  return read_arrow_file(path, tell);
}

// Checks that both files have the same columns in the same order.
void require_same_names(const arrow::Schema& first, const arrow::Schema& other, const std::filesystem::path& first_path,
                        const std::filesystem::path& other_path) {
  if (first.field_names() != other.field_names()) {
    throw error(fmt::format("'{}' and '{}' have different columns: load them into tables of their own.",
                            first_path.string(), other_path.string()));
  }
}

// Returns the type of a column whose type was inferred differently in several CSV files, or in none. If it differs from
// the inferred type of a file, that file is read again, since 007 read as a number has lost its zeros.
std::shared_ptr<arrow::DataType> common_guess(const std::vector<std::shared_ptr<arrow::DataType>>& guesses) {
  std::shared_ptr<arrow::DataType> common = arrow::null();
  for (const auto& guess : guesses) {
    if (guess->id() == arrow::Type::NA || guess->Equals(*common)) continue;
    const bool both_numbers = (guess->id() == arrow::Type::INT64 && common->id() == arrow::Type::DOUBLE) ||
                              (guess->id() == arrow::Type::DOUBLE && common->id() == arrow::Type::INT64);
    if (common->id() == arrow::Type::NA) {
      common = guess;
    } else {
      common = both_numbers ? arrow::float64() : arrow::utf8();
    }
  }
  // Times of day and other inferred types that a column cannot store remain text.
  return loaded_type(*common) ? common : arrow::utf8();
}

arrow_types agreed_types(const table_list& tables) {
  arrow_types types;
  for (int i = 0; i < tables.front()->num_columns(); ++i) {
    std::vector<std::shared_ptr<arrow::DataType>> guesses;
    for (const auto& table : tables) guesses.push_back(table->column(i)->type());
    types[tables.front()->field(i)->name()] = common_guess(guesses);
  }
  return types;
}

bool has_types(const arrow::Table& table, const arrow_types& types) {
  return std::ranges::all_of(table.fields(), [&](const auto& field) {
    return field->type()->id() == arrow::Type::NA || field->type()->Equals(*types.at(field->name()));
  });
}

void read_differing_files_again(table_list& tables, const std::vector<std::filesystem::path>& paths,
                                const csv_options& options, const progress& tell) {
  const auto types = agreed_types(tables);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (!has_types(*tables[i], types)) tables[i] = read_csv_file(paths[i], options, types, tell);
  }
}

void require_same_types(const std::vector<column>& first, const std::vector<column>& other,
                        const std::filesystem::path& first_path, const std::filesystem::path& other_path) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].type != other[i].type) {
      throw error(fmt::format("Column '{}' is {} in '{}' and {} in '{}': convert one of the files.", first[i].name,
                              sql_name(first[i].type), first_path.string(), sql_name(other[i].type),
                              other_path.string()));
    }
  }
}

// Parquet's reader builds arrays itself but does not validate strings.
void require_utf8(const arrow::Table& table, const std::filesystem::path& path) {
  for (const auto& data : table.columns()) {
    if (data->type()->id() != arrow::Type::STRING) continue;
    parallel_for(static_cast<std::size_t>(data->num_chunks()), [&](std::size_t i) {
      require_ok(static_cast<const arrow::StringArray&>(*data->chunk(static_cast<int>(i))).ValidateUTF8(),
                 fmt::format("'{}' cannot be read", path.string()));
    });
  }
}

// Arrow uses its null type for a column without values.
bool is_without_values(const arrow::Table& table, std::size_t column) {
  return table.column(static_cast<int>(column))->type()->id() == arrow::Type::NA;
}

// Returns one list of columns for all files. A column without values takes its type from the other files.
std::vector<column> agreed_columns(const table_list& tables, const std::vector<std::filesystem::path>& paths) {
  auto columns = loaded_columns(*tables.front()->schema());
  std::vector<bool> untyped;
  for (std::size_t i = 0; i < columns.size(); ++i) untyped.push_back(is_without_values(*tables.front(), i));
  for (std::size_t t = 1; t < tables.size(); ++t) {
    auto others = loaded_columns(*tables[t]->schema());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (is_without_values(*tables[t], i)) {
        others[i].type = columns[i].type;
      } else if (untyped[i]) {
        columns[i].type = others[i].type;
        untyped[i] = false;
      }
    }
    require_same_types(columns, others, paths.front(), paths[t]);
  }
  return columns;
}

// Splits off columns that a table cannot store; `with_odd` puts them back into their positions.
struct split_columns {
  std::vector<int> usable, odd;

  explicit split_columns(const arrow::Schema& schema) {
    for (int i = 0; i < schema.num_fields(); ++i) (loaded_type(*schema.field(i)->type()) ? usable : odd).push_back(i);
  }

  std::shared_ptr<arrow::Table> with_odd(const arrow::Table& all, std::shared_ptr<arrow::Table> loaded) const {
    for (const int i : odd) loaded = value_of(loaded->AddColumn(i, all.field(i), all.column(i)), "Columns differ");
    return loaded;
  }
};

}  // namespace

std::optional<file_format> format_from_name(std::string_view name) {
  const auto lower = lower_case(name);
  for (const auto format : {file_format::csv, file_format::parquet, file_format::arrow}) {
    if (lower == to_string(format)) return format;
  }
  return std::nullopt;
}

std::optional<file_format> format_from_path(const std::filesystem::path& path) {
  const auto found = std::ranges::find(file_endings, lower_case(path.extension().string()), &ending_of_format::ending);
  if (found == file_endings.end()) return std::nullopt;
  return found->format;
}

std::string_view to_string(file_format format) {
  switch (format) {
    case file_format::csv:
      return "csv";
    case file_format::parquet:
      return "parquet";
    case file_format::arrow:
      break;
  }
  return "arrow";
}

std::vector<std::filesystem::path> matching_files(const std::string& path_or_glob) {
  std::error_code none;
  const auto there = std::filesystem::status(path_or_glob, none);
  if (std::filesystem::exists(there) || path_or_glob.find_first_of("*?[{") == std::string::npos) {
    if (!std::filesystem::exists(there)) {
      const bool missing = !none || none == std::errc::no_such_file_or_directory || none == std::errc::not_a_directory;
      throw engine_error(missing ? fmt::format("There is no file '{}'.", path_or_glob)
                                 : fmt::format("'{}' cannot be read: {}.", path_or_glob, none.message()),
                         missing ? codes::undefined_file : codes::io_error);
    }
    if (std::filesystem::is_directory(there)) {
      throw engine_error(fmt::format("'{0}' is a folder: name its files, as in '{0}/*.parquet'.", path_or_glob),
                         codes::io_error);
    }
    if (!std::filesystem::is_regular_file(there)) {
      throw engine_error(
          fmt::format(
              "'{}' is not a regular file: files are read more than once, which pipes and devices do not allow.",
              path_or_glob),
          codes::io_error);
    }
    return {path_or_glob};
  }
  glob_t found{};
  std::vector<std::filesystem::path> files;
  if (::glob(path_or_glob.c_str(), GLOB_BRACE, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      if (std::filesystem::is_regular_file(found.gl_pathv[i], none)) files.emplace_back(found.gl_pathv[i]);
    }
  }
  ::globfree(&found);
  if (files.empty()) throw error(fmt::format("No file matches '{}'.", path_or_glob));
  return files;
}

std::shared_ptr<arrow::Table> read_table(const std::string& path_or_glob, file_format format,
                                         const csv_options& options, const progress& tell, unsupported_columns odd) {
  const auto paths = matching_files(path_or_glob);
  arrow_types given;
  for (const auto& [name, type] : options.types) given[name] = arrow_type(type);
  table_list tables;
  for (const auto& path : paths) {
    tables.push_back(read_one(path, format, options, given, tell));
    require_same_names(*tables.front()->schema(), *tables.back()->schema(), paths.front(), path);
  }
  for (const auto& [name, type] : given) {
    if (format == file_format::csv && tables.front()->schema()->GetFieldIndex(name) < 0) {
      throw error(fmt::format("'{}' has no column '{}' that could have a type.", paths.front().string(), name));
    }
  }
  if (format == file_format::csv) read_differing_files_again(tables, paths, options, tell);
  const split_columns split(*tables.front()->schema());
  const bool keeps_odd = odd == unsupported_columns::kept && !split.odd.empty() && !split.usable.empty();
  const table_list all = keeps_odd ? tables : table_list();
  if (keeps_odd) {
    for (auto& table : tables) table = value_of(table->SelectColumns(split.usable), "Columns differ");
  }
  const auto columns = agreed_columns(tables, paths);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    tables[i] = converted(tables[i], columns);
    if (keeps_odd) tables[i] = split.with_odd(*all[i], tables[i]);
    if (format == file_format::parquet) require_utf8(*tables[i], paths[i]);
  }
  return value_of(arrow::ConcatenateTables(tables), fmt::format("'{}' cannot be read", path_or_glob));
}

}  // namespace espalier::engine
