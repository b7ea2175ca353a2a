// suite.hpp - code that suites share: parts that are measured one by one, a folder for the tables, plots and results of
// each part, the devices to measure, and Markdown tables.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"
#include "bench/harness/timing.hpp"

namespace espalier::bench {

struct suite_options {
  options base;  ///< device, threads, repeat, seed, command
  std::uint64_t most_keys = 0;
  std::string folder;
  std::vector<std::string> parts;  ///< the parts to measure; empty means all
  // The following fields are for suites that run SQL.
  std::string duckdb_python;     ///< an interpreter with the packages duckdb and pyarrow; empty: search for one
  std::uint64_t load_bytes = 0;  ///< size of the files to load
};

/// Checks --max-keys. Throws bad_arguments with one sentence, also for several thread counts.
void check_suite(const suite_options& what, std::uint64_t least_keys, std::uint64_t most_keys);
/// Returns the parts of `all` that --parts selects, in the suite's order. Throws bad_arguments for unknown parts.
[[nodiscard]] std::vector<std::string> chosen_parts(const suite_options& what, const std::vector<std::string>& all);

/// Returns the CPU, and the GPU if it is requested or present.
[[nodiscard]] std::vector<device_choice> suite_devices(const options& base);

/// The result of measuring one part of a suite.
struct suite_part {
  std::map<device_choice, report> reports;
  std::vector<std::pair<std::string, std::string>> plots;  ///< names and contents of files
  std::string tables;                                      ///< Markdown, including the provenance
};

/// Adds the rows of a run to the results of the same device; the other fields are overwritten by those of the run.
void append_rows(const report& from, report& into);

/// Several runs may fill one folder, part by part; an interrupted run leaves the finished parts.
class suite_folder {
 public:
  /// `parts` are those of the whole suite, in order. Throws bad_arguments if the folder is not writable, before
  /// anything is measured.
  suite_folder(std::string folder, std::string introduction, std::vector<std::string> parts, std::ostream& out);

  /// Writes NAME-cpu.json, NAME-gpu.json, plots and part-NAME.md, rewrites tables.md, and prints the file names.
  void save(const std::string& name, const suite_part& part) const;

 private:
  void write(const std::string& name, const std::string& text) const;
  void write_and_name(const std::string& name, const std::string& text) const;
  void save_results(const std::string& name, device_choice dev, const suite_part& part) const;
  /// Returns the introduction and the parts that exist in the folder.
  [[nodiscard]] std::string tables() const;

  std::string folder_;
  std::string introduction_;
  std::vector<std::string> parts_;
  std::ostream& out_;
};

/// Reports on standard error that something is being measured, and finally how long it took.
class timed_log {
 public:
  explicit timed_log(std::string what);
  timed_log(const timed_log&) = delete;
  timed_log& operator=(const timed_log&) = delete;
  ~timed_log();

 private:
  std::string what_;
  stopwatch watch_;
};

/// Cells are right-aligned.
[[nodiscard]] std::string markdown_table(const std::vector<std::string>& head,
                                         const std::vector<std::vector<std::string>>& rows);
[[nodiscard]] std::string markdown_image(const std::string& title, const std::string& file);
/// Returns the machine, version and command of the tables as sentences.
[[nodiscard]] std::string provenance(const options& base);

}  // namespace espalier::bench
