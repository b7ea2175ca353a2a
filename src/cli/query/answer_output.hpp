// answer_output.hpp - where answers go: the terminal, a pipe, or a file that appears when it is whole.
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

/// Thrown by `rows` after Ctrl-C, where somebody watches for it.
class answer_stopped : public std::runtime_error {
 public:
  answer_stopped() : std::runtime_error("Stopped: the answer was not shown to its end.") {}
};

class answer_output {
 public:
  /// To `file`, or to standard output where that is empty. Arrow's bytes are refused on a terminal.
  answer_output(answer_format format, const std::string& file);
  answer_output(const answer_output&) = delete;
  answer_output& operator=(const answer_output&) = delete;
  ~answer_output();  ///< without `finish`, a file is left as it was

  [[nodiscard]] answer_format format() const noexcept { return format_; }
  void set_format(answer_format format);

  /// One answer. CSV has an empty line between two; Arrow streams hold no more than one.
  void rows(const std::shared_ptr<arrow::Table>& rows);
  /// What a statement without rows did ("INSERT 0 3"), or another remark: shown where people read, in no other format.
  void remark(std::string_view text);
  /// How long a statement took: a remark on a terminal or a pipe of tables, else on standard error, so that what
  /// programs read holds answers only.
  void note(std::string_view text);
  void finish();

 private:
  void put(std::string_view text);
  void show();  ///< what went to standard output so far

  answer_format format_;
  std::string name_;
  std::unique_ptr<engine::replaced_file> whole_;  ///< null: standard output
  std::FILE* file_ = nullptr;
  int answers_ = 0;
};

}  // namespace espalier::cli
