// suite.hpp - what suites of measurements share: a folder that takes tables, plots and results as they come, the
// devices that are measured, and tables in Markdown.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "bench/options.hpp"
#include "bench/row.hpp"

namespace espalier::bench {

struct suite_options {
  options base;  ///< device, threads, repeat, seed, command
  std::uint64_t most_keys = 0;
  std::string folder;
};

/// Of --max-keys. Throws bad_arguments with one sentence, also if several numbers of threads are given.
void check_suite(const suite_options& what, std::uint64_t least_keys, std::uint64_t most_keys);

/// The CPU, and the GPU if it is asked for or there is one.
[[nodiscard]] std::vector<device_choice> suite_devices(const options& base);

class suite_folder {
 public:
  /// Throws bad_arguments if the folder cannot be written to: before anything is measured.
  suite_folder(std::string folder, std::ostream& out);

  /// Writes a file and names it to the user.
  void save(const std::string& name, const std::string& text) const;
  /// Adds rows to results-cpu.json or results-gpu.json, and writes it: a run that is cut short leaves what it has.
  void keep(device_choice where, report part);
  [[nodiscard]] const report& kept(device_choice where) const { return reports_.at(where); }

 private:
  [[nodiscard]] std::ofstream open(const std::string& name) const;

  std::string folder_;
  std::ostream& out_;
  std::map<device_choice, report> reports_;
};

/// Cells are aligned to the right.
[[nodiscard]] std::string markdown_table(const std::vector<std::string>& head,
                                         const std::vector<std::vector<std::string>>& rows);
/// Where, from what and by which command tables were made, as sentences.
[[nodiscard]] std::string provenance(const options& base, unsigned threads);

}  // namespace espalier::bench
