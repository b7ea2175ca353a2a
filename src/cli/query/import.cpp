// import.cpp - `espalier import`: loads files into a table, which is created if necessary. The import is atomic.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/query/answer_output.hpp"
#include "cli/query/query_options.hpp"
#include "cli/query/statement_runner.hpp"
#include "engine/catalog.hpp"
#include "engine/table/read.hpp"

namespace espalier::cli {
namespace {

struct import_options : query_options {
  std::vector<std::string> files;
  std::string table;
  std::string input;
  std::string delimiter;
  std::string null_text;
  bool no_header = false;
};

std::string quoted_with(const std::string& text, char quote) {
  std::string quoted(1, quote);
  for (const char c : text) quoted += c == quote ? std::string(2, c) : std::string(1, c);
  return quoted + quote;
}

// Returns one pattern that matches exactly these files, in this order.
std::string pattern_of(const std::vector<std::string>& files) {
  if (files.size() == 1) return files.front();
  std::string pattern = "{";
  for (const auto& file : files) {
    if (pattern.size() > 1) pattern += ",";
    for (const char c : file) {
      if (std::string_view("*?[]{},\\").find(c) != std::string_view::npos) pattern += '\\';
      pattern += c;
    }
  }
  return pattern + "}";
}

engine::file_format input_format(const import_options& options) {
  if (!options.input.empty()) {
    const auto named = engine::format_from_name(options.input);
    if (named) return *named;
    throw bad_arguments(fmt::format("--input does not know '{}': choose csv, parquet or arrow.", options.input));
  }
  std::optional<engine::file_format> common;
  for (const auto& file : options.files) {
    const auto format = engine::format_from_path(file);
    if (!format) {
      throw bad_arguments(
          fmt::format("The ending of '{}' does not say what it is: add --input csv, parquet or arrow.", file));
    }
    if (common && *common != *format) {
      throw bad_arguments("Files of several formats cannot be imported at once: import them one after the other.");
    }
    common = format;
  }
  return *common;
}

// Expands patterns that the shell did not expand.
std::vector<std::string> expanded(const std::vector<std::string>& patterns) {
  std::vector<std::string> files;
  for (const auto& pattern : patterns) {
    try {
      for (const auto& file : engine::matching_files(pattern)) files.push_back(file.string());
    } catch (const error& e) {
      throw bad_arguments(e.what());
    }
  }
  return files;
}

using named_options = std::vector<std::pair<std::string, std::string>>;

named_options reading_options(const import_options& options, engine::file_format format) {
  named_options named;
  if (options.no_header) named.emplace_back("header", "false");
  if (!options.delimiter.empty()) named.emplace_back("delimiter", quoted_with(options.delimiter, '\''));
  if (!options.null_text.empty()) named.emplace_back("null", quoted_with(options.null_text, '\''));
  if (format != engine::file_format::csv && !named.empty()) {
    throw bad_arguments("--no-header, --delimiter and --null are for CSV files.");
  }
  return named;
}

// An existing table determines columns and types; a new one takes those of the files.
std::string import_statement(const import_options& options, bool there) {
  const auto format = input_format(options);
  const std::string table = quoted_with(options.table, '"');
  const std::string files = quoted_with(pattern_of(options.files), '\'');
  std::string named;
  for (const auto& [name, value] : reading_options(options, format)) {
    named += there ? fmt::format(", {} {}", name, value)
                   : fmt::format(", {} => {}", name == "null" ? "nullstr" : name, value);
  }
  if (!there) {
    return fmt::format("CREATE TABLE {} AS SELECT * FROM read_{}({}{})", table, engine::to_string(format), files,
                       named);
  }
  return fmt::format("COPY {} FROM {} (FORMAT {}, by_name {}{})", table, files, engine::to_string(format),
                     options.no_header ? "false" : "true", named);
}

int run_import(import_options options) {
  options.files = expanded(options.files);
  (void)reading_options(options, input_format(options));  // refused before a database is created
  if (options.db.empty()) throw bad_arguments("Name the database's folder with --db.");
  answer_output out(answer_format::table, "");
  auto db = open_database(options, database_use::may_be_made);
  const bool there = db.tables().find(options.table) != nullptr;
  statement_runner runner(db, out);
  runner.timing = true;
  try {
    runner.run(import_statement(options, there));
  } catch (const engine::sql_error& e) {
    throw error(e.sentence());  // its position refers to a generated statement
  }
  const auto rows = db.tables().find(options.table)->version->live_rows();
  out.remark(fmt::format("Table {} has {} {}.", options.table, rows, rows == 1 ? "row" : "rows"));
  out.finish();
  save_indexes_or_warn(db);
  return 0;
}

}  // namespace

void add_import(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("import", "Load CSV, Parquet or Arrow files into a table of a database.");
  auto options = std::make_shared<import_options>();
  command->add_option("FILE", options->files, "Files; * and ? are understood too")->required();
  command->add_option("--table", options->table, "Table to load into; made if it is not there")->required();
  command->add_option("--input", options->input, "csv, parquet or arrow, where endings do not say it");
  command->add_option("--delimiter", options->delimiter, "Between fields of CSV files");
  command->add_option("--null", options->null_text, "How CSV files write NULL; an empty field by default");
  command->add_flag("--no-header", options->no_header, "The first line of CSV files has no names");
  add_database_options(*command, *options, "Folder of the database; made if it is not there");
  command->footer("Example:\n  espalier import orders-*.parquet --db shop --table orders");
  command->callback([&chosen, options] { chosen = [options] { return run_import(*options); }; });
}

}  // namespace espalier::cli
