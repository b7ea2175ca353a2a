// answer_output.hpp - the destination of results: the terminal, a pipe, or a file that appears when it is complete.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cli/query/render.hpp"
#include "engine/table/replaced_file.hpp"

namespace espalier::cli {

/// Thrown by `rows` after Ctrl-C, if an interrupt_watch is active.
class answer_stopped : public std::runtime_error {
 public:
  answer_stopped() : std::runtime_error("Stopped: the answer was not shown to its end.") {}
};

class answer_output {
 public:
  /// Writes to `file`, or to standard output if that is empty. Binary Arrow data is refused on a terminal.
  answer_output(answer_format format, const std::string& file);
  answer_output(const answer_output&) = delete;
  answer_output& operator=(const answer_output&) = delete;
  ~answer_output();  ///< without `finish`, an existing file is unchanged

  [[nodiscard]] answer_format format() const noexcept { return format_; }
  void set_format(answer_format format);

  /// Writes one result. CSV separates results by an empty line; an Arrow stream has at most one.
  void rows(const std::shared_ptr<arrow::Table>& rows);
  /// Writes the tag of a statement without rows ("INSERT 0 3") or another remark. It is shown in the table format only.
  void remark(std::string_view text);
  /// Writes how long a statement took: as a remark in the table format on a terminal or pipe, otherwise to standard
  /// error, so that programs read results only.
  void note(std::string_view text);
  void finish();

 private:
  void put(std::string_view text);
  void show();  ///< flushes standard output

  answer_format format_;
  std::string name_;
  std::unique_ptr<engine::replaced_file> whole_;  ///< null for standard output
  std::FILE* file_ = nullptr;
  int answers_ = 0;
};

}  // namespace espalier::cli
