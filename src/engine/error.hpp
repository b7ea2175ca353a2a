// error.hpp - errors that are thrown where the text of the statement is not available. They have the fields of
// sql_error and a position in the statement.
#pragma once

#include <string>

#include "espalier/core/error.hpp"
#include "espalier/engine/engine_error.hpp"
#include "espalier/engine/sql_error.hpp"

namespace espalier::engine {

/// A negative `position` means that the error has no position.
class located_error : public error {
 public:
  located_error(const std::string& sentence, int position);
  [[nodiscard]] int position() const noexcept { return position_; }

 private:
  int position_;
};

/// Throws `located_error`.
[[noreturn]] void throw_sql_error(int position, const std::string& sentence);

/// An error with its own SQLSTATE, used where the SQLSTATE of its stage is too general.
class coded_refusal : public located_error {
 public:
  coded_refusal(const error_code& code, const std::string& sentence, int position)
      : located_error(sentence, position), code_(code) {}
  [[nodiscard]] const error_code& code() const noexcept { return code_; }

 private:
  error_code code_;
};

/// Returns whether the error is about the values of rows (SQLSTATE 22xxx), such as a division by zero. Errors without a
/// SQLSTATE of their own are, since they occur while rows are computed.
[[nodiscard]] bool is_about_values(const located_error& problem);

/// Throws `coded_refusal`.
[[noreturn]] void throw_sql_error(const error_code& code, int position, const std::string& sentence);

/// `clause` is LIMIT or OFFSET.
[[noreturn]] void refuse_negative(std::string_view clause, int position);

}  // namespace espalier::engine
