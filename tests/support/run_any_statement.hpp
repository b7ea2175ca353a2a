// run_any_statement.hpp - runs arbitrary bytes as a statement through parser, binder, planner and executor, for the
// fuzzer and for the test that mutates statements. Errors are permitted, other exceptions and crashes are not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/catalog.hpp"
#include "engine/table/table_version.hpp"
#include "espalier/engine/database.hpp"
#include "support/scratch_working_folder.hpp"

namespace espalier::test {

inline engine::database new_small_database() {
  engine::database_options options;
  options.device = device::cpu(1);
  options.prefer_indexes = true;
  engine::database out(options);
  out.run_script(
      "CREATE TABLE t (id integer PRIMARY KEY, a integer, b bigint, d double precision, n numeric(10,2), s varchar, dt "
      "date,"
      "  ts timestamp, ok boolean);"
      "INSERT INTO t VALUES (1, 1, 10, 0.5, 1.25, 'one', '2024-01-01', '2024-01-01 10:00:00', true),"
      "  (2, NULL, -10, -0.5, NULL, 'two', NULL, NULL, false), (3, 3, NULL, NULL, -3, NULL, '2024-03-01', NULL, NULL);"
      "CREATE TABLE u (id integer, t_id integer, k varchar);"
      "INSERT INTO u VALUES (1, 1, 'a'), (2, 1, NULL), (3, 3, 'c');"
      "CREATE INDEX t_a ON t (a); CREATE INDEX t_s ON t (s, a); CREATE INDEX u_t_id ON u (t_id);");
  return out;
}

/// The database is recreated once statements have changed it too much, since tables that double would fill the memory.
inline engine::database& small_database() {
  static engine::database db = new_small_database();
  std::uint64_t rows = 0;
  for (const auto& entry : db.tables().all()) rows += entry->version->rows();
  if (rows > 4000 || db.tables().all().size() != 2) db = new_small_database();
  return db;
}

/// Statements with COPY or read_... run in their own folder, with a small file of each format.
class statement_files {
 public:
  statement_files() { refill(); }

  /// If the text cannot express a path separator, escapes included, every file name is in this folder.
  [[nodiscard]] static bool stays_inside(std::string_view text) {
    return text.find_first_of("/\\") == std::string_view::npos && text.find("U&") == std::string_view::npos &&
           text.find("u&") == std::string_view::npos;
  }

  /// Removes the files that a statement has written.
  void tidy() {
    if (folder_.files() > 40) refill();
  }

 private:
  void refill() {
    folder_.remove_files();
    auto db = new_small_database();
    for (const char* const format : {"csv", "parquet", "arrow"}) {
      for (const char* const table : {"t", "u"}) {
        db.execute(std::string("COPY ") + table + " TO '" + table + "." + format + "' (FORMAT " + format + ")");
      }
    }
  }

  scratch_working_folder folder_;
};

inline bool touches_files(std::string_view text) {
  for (std::size_t i = 0; i + 4 <= text.size(); ++i) {
    const auto lower = [&](std::size_t k) { return static_cast<char>(text[i + k] | 0x20); };
    if (lower(0) == 'c' && lower(1) == 'o' && lower(2) == 'p' && lower(3) == 'y') return true;
    if (lower(0) == 'r' && lower(1) == 'e' && lower(2) == 'a' && lower(3) == 'd') return true;
  }
  return false;
}

/// Returns whether the statement succeeded. A statement that could access files outside of `files` is not run.
inline bool run_any_statement(std::string_view text, statement_files& files) {
  const bool with_files = touches_files(text);
  if (with_files && !statement_files::stays_inside(text)) return false;
  try {
    (void)engine::is_complete(text);
    (void)engine::split_script(text);
  } catch (const error&) {
  }
  bool answered = true;
  try {
    (void)small_database().execute(text);
  } catch (const error&) {
    answered = false;
  }
  if (with_files) files.tidy();
  return answered;
}

}  // namespace espalier::test
