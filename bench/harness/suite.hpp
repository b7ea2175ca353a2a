// suite.hpp - what suites of measurements share: parts that are measured one by one, a folder that takes the tables,
// plots and results of each as it comes, the devices that are measured, and tables in Markdown.
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
  std::vector<std::string> parts;  ///< which are measured; empty: all
  // Of suites that run SQL:
  std::string duckdb_python;     ///< which has the packages duckdb and pyarrow; empty: one at hand
  std::uint64_t load_bytes = 0;  ///< of files that are loaded
};

/// Of --max-keys. Throws bad_arguments with one sentence, also if several numbers of threads are given.
void check_suite(const suite_options& what, std::uint64_t least_keys, std::uint64_t most_keys);
/// Those of `all` that --parts names, in the suite's order. Throws bad_arguments if it names others.
[[nodiscard]] std::vector<std::string> chosen_parts(const suite_options& what, const std::vector<std::string>& all);

/// The CPU, and the GPU if it is asked for or there is one.
[[nodiscard]] std::vector<device_choice> suite_devices(const options& base);

/// What measuring one part of a suite gives.
struct suite_part {
  std::map<device_choice, report> reports;
  std::vector<std::pair<std::string, std::string>> plots;  ///< names and contents of files
  std::string tables;                                      ///< in Markdown, provenance included
};

/// Adds the rows of a run to the results of the same device, whose other fields become those of the run.
void append_rows(const report& from, report& into);

/// Several runs may fill one folder, part by part; a run that is cut short leaves the parts that it has.
class suite_folder {
 public:
  /// `parts`: of the whole suite, in order. Throws bad_arguments if the folder cannot be written to: before anything is
  /// measured.
  suite_folder(std::string folder, std::string introduction, std::vector<std::string> parts, std::ostream& out);

  /// Writes NAME-cpu.json, NAME-gpu.json, plots and part-NAME.md, and tables.md anew; names the files to the user.
  void save(const std::string& name, const suite_part& part) const;

 private:
  void write(const std::string& name, const std::string& text) const;
  void write_and_name(const std::string& name, const std::string& text) const;
  void save_results(const std::string& name, device_choice dev, const suite_part& part) const;
  /// The introduction and what parts the folder has.
  [[nodiscard]] std::string tables() const;

  std::string folder_;
  std::string introduction_;
  std::vector<std::string> parts_;
  std::ostream& out_;
};

/// Says on standard error that something is being measured, and at the end for how long.
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

/// Cells are aligned to the right.
[[nodiscard]] std::string markdown_table(const std::vector<std::string>& head,
                                         const std::vector<std::vector<std::string>>& rows);
[[nodiscard]] std::string markdown_image(const std::string& title, const std::string& file);
/// Where, from what and by which command tables were made, as sentences.
[[nodiscard]] std::string provenance(const options& base);

}  // namespace espalier::bench
