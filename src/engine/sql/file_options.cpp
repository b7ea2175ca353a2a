#include "engine/sql/file_options.hpp"

#include <fmt/format.h>

#include "engine/error.hpp"

namespace espalier::engine {
namespace {

char one_character(const std::string& name, const std::string& value, int position) {
  if (value == "\\t") return '\t';
  if (value.size() != 1) throw_sql_error(position, fmt::format("The option {} takes one character.", name));
  return value[0];
}

bool truth_value(const std::string& name, const std::string& value, int position) {
  if (value == "true" || value == "on" || value == "1") return true;
  if (value == "false" || value == "off" || value == "0") return false;
  throw_sql_error(position, fmt::format("The option {} takes true or false.", name));
}

}  // namespace

std::optional<file_format> format_of_function(std::string_view name) {
  if (name == "read_csv") return file_format::csv;
  if (name == "read_parquet") return file_format::parquet;
  if (name == "read_arrow") return file_format::arrow;
  return std::nullopt;
}

csv_options read_file_options(const std::vector<std::pair<std::string, std::string>>& options, file_format format,
                              int position) {
  csv_options out;
  for (const auto& [name, value] : options) {
    if (format != file_format::csv) {
      throw_sql_error(position, fmt::format("The option {} is for CSV only.", name));
    }
    if (name == "delimiter" || name == "delim" || name == "sep") {
      out.delimiter = one_character(name, value, position);
    } else if (name == "quote") {
      out.quote = one_character(name, value, position);
    } else if (name == "header") {
      out.header = truth_value(name, value, position);
    } else if (name == "null" || name == "nullstr") {
      out.null_text = value;
    } else {
      throw_sql_error(position,
                      fmt::format("The option {} is not supported; delimiter, quote, header and nullstr are.", name));
    }
  }
  return out;
}

void refuse_file_access(int position, const std::string& what) {
  throw_sql_error(codes::insufficient_privilege, position,
                  fmt::format("{} is not allowed: this database was opened without access to other files "
                              "(allow_file_access).",
                              what));
}

}  // namespace espalier::engine
