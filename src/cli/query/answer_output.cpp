#include "cli/query/answer_output.hpp"

#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "cli/errors.hpp"
#include "cli/query/interrupt.hpp"
#include "engine/table/write.hpp"
#include "espalier/core/error.hpp"

namespace espalier::cli {
namespace {

[[noreturn]] void refuse_output(const std::string& name) {
  throw error(fmt::format("'{}' cannot be written: {}.", name.empty() ? "standard output" : name,
                          std::generic_category().message(errno)));
}

void require_no_terminal(answer_format format, const std::string& name) {
  if (format == answer_format::arrow && name.empty() && ::isatty(STDOUT_FILENO) != 0) {
    throw bad_arguments("--format arrow writes bytes, which a terminal cannot show: name a file with --out.");
  }
}

// Lets Arrow's writers write to a C FILE.
class c_file_stream final : public arrow::io::OutputStream {
 public:
  explicit c_file_stream(std::FILE* file) : file_(file) {}
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }
  arrow::Result<std::int64_t> Tell() const override { return written_; }
  using arrow::io::OutputStream::Write;
  arrow::Status Write(const void* data, std::int64_t bytes) override {
    if (interrupt_noted()) return arrow::Status::Cancelled("Ctrl-C");
    if (std::fwrite(data, 1, static_cast<std::size_t>(bytes), file_) != static_cast<std::size_t>(bytes)) {
      return arrow::Status::IOError(std::generic_category().message(errno));
    }
    written_ += bytes;
    return arrow::Status::OK();
  }

 private:
  std::FILE* file_;
  std::int64_t written_ = 0;
};

}  // namespace

answer_output::answer_output(answer_format format, const std::string& file) : format_(format), name_(file) {
  require_no_terminal(format, file);
  if (name_.empty()) {
    file_ = stdout;
    return;
  }
  try {
    whole_ = std::make_unique<engine::replaced_file>(name_);
    file_ = ::fdopen(whole_->duplicate_handle(), "wb");
  } catch (const error& e) {
    throw bad_arguments(fmt::format("--out: {}", e.what()));
  }
  if (file_ == nullptr) refuse_output(name_);
}

answer_output::~answer_output() {
  if (whole_ && file_ != nullptr) std::fclose(file_);
}

void answer_output::set_format(answer_format format) {
  require_no_terminal(format, name_);
  format_ = format;
}

void answer_output::put(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) refuse_output(name_);
}

void answer_output::rows(const std::shared_ptr<arrow::Table>& rows) try {
  const text_sink sink = [this](std::string_view text) {
    if (interrupt_noted()) {
      show();
      throw answer_stopped();
    }
    put(text);
  };
  const bool first = answers_++ == 0;
  if (format_ == answer_format::table) {
    render_table(*rows, sink);
  } else if (format_ == answer_format::json) {
    render_json(*rows, sink);
  } else if (format_ == answer_format::csv) {
    if (!first) put("\n");
    c_file_stream stream(file_);
    engine::write_table(rows, stream, engine::file_format::csv);
  } else {
    if (!first) throw error("--format arrow holds one answer: ask for one at a time, or use another format.");
    c_file_stream stream(file_);
    engine::write_table(rows, stream, engine::file_format::arrow);
  }
  show();
} catch (const error&) {
  if (interrupt_noted()) throw answer_stopped();
  throw;
}

void answer_output::remark(std::string_view text) {
  if (format_ != answer_format::table || text.empty()) return;
  put(fmt::format("{}\n", text));
  show();
}

void answer_output::note(std::string_view text) {
  if (format_ == answer_format::table && name_.empty()) return remark(text);
  fmt::print(stderr, "{}\n", text);
}

void answer_output::show() {
  if (name_.empty() && std::fflush(file_) != 0) refuse_output(name_);
}

void answer_output::finish() {
  if (name_.empty()) return show();
  if (std::fclose(std::exchange(file_, nullptr)) != 0) refuse_output(name_);
  whole_->finish();
}

}  // namespace espalier::cli
