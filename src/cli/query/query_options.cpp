#include "cli/query/query_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "engine/memory_budget.hpp"
#include "engine/store/folder.hpp"
#include "engine/table/read.hpp"

namespace espalier::cli {
namespace {

// Chooses as COPY does, except that .txt and unknown suffixes mean the table format.
answer_format format_of_ending(const std::string& file) {
  std::string ending = std::filesystem::path(file).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (ending == ".csv") return answer_format::csv;
  if (ending == ".json") return answer_format::json;
  const auto format = engine::format_from_path(file);
  if (format == engine::file_format::arrow) return answer_format::arrow;
  if (format == engine::file_format::parquet) {
    throw bad_arguments(fmt::format(
        "--out: answers are not written as Parquet; COPY (SELECT ...) TO '{}' does it, or add --format.", file));
  }
  return answer_format::table;
}

std::optional<device> chosen_device(const std::string& name) {
  if (name == "auto") return std::nullopt;
  if (name == "cpu") return device::cpu();
  if (name != "gpu") {
    throw bad_arguments(fmt::format("--device does not know '{}': choose auto, cpu or gpu.", name));
  }
  return gpu_for_command();
}

// Editors on Windows write one at the start of UTF-8 files.
std::string without_byte_order_mark(std::string text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

}  // namespace

CLI::Validator not_empty(const std::string& what) {
  return {[what](const std::string& value) { return value.empty() ? "it is empty; give " + what + "." : ""; }, "", ""};
}

void add_database_options(CLI::App& command, query_options& options, const std::string& folder) {
  // --db "$UNSET" must not mean a database in memory, whose tables are lost at the end.
  command.add_option("--db", options.db, folder)->check(not_empty("the name of a folder"));
  command.add_flag("--read-only", options.read_only, "Change and lock nothing; others may read and write meanwhile");
  command.add_option("--memory-limit", options.memory_limit,
                     "What a statement may take, such as 500MB, 4GB or 50%; default: 80 % of the machine's memory");
  command.add_option("--device", options.device, "Where indexes live: auto, cpu or gpu")->capture_default_str();
}

void add_output_options(CLI::App& command, query_options& options) {
  command.add_option("--format", options.format,
                     "Of answers: table, csv, json or arrow; default: what the ending of --out says, else table");
  command.add_option("--out", options.out, "File for the answers instead of standard output")
      ->check(not_empty("the name of a file"));
}

answer_format chosen_format(const query_options& options) {
  if (options.format.empty()) return format_of_ending(options.out);
  const auto format = answer_format_from(options.format);
  if (!format) {
    throw bad_arguments(fmt::format("--format does not know '{}': choose table, csv, json or arrow.", options.format));
  }
  return *format;
}

void require_output_outside_database(const query_options& options) {
  if (options.out.empty() || options.db.empty() || !engine::is_in_database(options.out, options.db)) return;
  throw bad_arguments(fmt::format(
      "--out: '{}' is in the folder of the database, which holds only files of its own: name a file in another folder.",
      options.out));
}

engine::database open_database(const query_options& options, database_use use) {
  if (options.read_only && options.db.empty()) throw bad_arguments("--read-only needs a database: add --db.");
  const bool must_exist = use != database_use::may_be_made || options.read_only;
  if (must_exist && options.db.empty()) {
    throw bad_arguments("Name the database's folder with --db.");
  }
  if (must_exist && !std::filesystem::exists(options.db)) {
    throw bad_arguments(fmt::format("--db: there is no database '{}'.", options.db));
  }
  engine::database_options chosen;
  chosen.path = options.db;
  chosen.device = chosen_device(options.device);
  chosen.read_only = options.read_only && !options.db.empty();
  if (!options.memory_limit.empty()) {
    chosen.memory_limit = engine::memory_size(options.memory_limit);
    if (!chosen.memory_limit) {
      throw bad_arguments(
          fmt::format("--memory-limit: '{}' is not an amount of memory; write one such as 500MB, 4GB or 50%.",
                      options.memory_limit));
    }
  }
  chosen.rebuild_damaged_indexes = use != database_use::must_be_whole;
  engine::database db(std::move(chosen));
  (void)print_warnings(db, 0);
  return db;
}

std::size_t print_warnings(const engine::database& db, std::size_t printed) {
  const auto& all = db.warnings();
  for (; printed < all.size(); ++printed) fmt::print(stderr, "espalier: warning: {}\n", all[printed]);
  return printed;
}

void save_indexes_or_warn(engine::database& db) {
  try {
    db.save_indexes();
  } catch (const error& e) {
    fmt::print(stderr,
               "espalier: warning: Indexes could not be saved and will be built when the database is opened: {}\n",
               e.what());
  }
}

std::string statement_text(const std::string& file, const std::string& command) {
  if (!command.empty() && !file.empty()) throw bad_arguments("Give either a file or -c, not both.");
  if (!command.empty()) return command;
  if (file == "-") return without_byte_order_mark({std::istreambuf_iterator<char>(std::cin), {}});
  std::ifstream in(file, std::ios::binary);
  if (!in || std::filesystem::is_directory(file)) {
    throw bad_arguments(fmt::format("The file '{}' cannot be read.", file));
  }
  return without_byte_order_mark({std::istreambuf_iterator<char>(in), {}});
}

void report_failure(const std::exception& failure) {
  fmt::print(stderr, "espalier: {}\n", failure.what());
  const auto* const statement = dynamic_cast<const engine::sql_error*>(&failure);
  if (statement != nullptr && !statement->excerpt().empty()) fmt::print(stderr, "{}\n", statement->excerpt());
}

}  // namespace espalier::cli
