// sql_error.hpp - the exception of a statement: one sentence, and its position in the statement.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {

/// A statement was rejected or failed. Tables and indexes are unchanged.
class sql_error : public engine_error {
 public:
  /// `position` is a byte offset in `text`, or none if the error has no position.
  sql_error(const std::string& sentence, std::string_view text, std::optional<std::size_t> position,
            const error_code& code = codes::refused_statement);

  [[nodiscard]] const std::string& sentence() const noexcept { return sentence_; }
  [[nodiscard]] std::optional<std::size_t> position() const noexcept { return position_; }
  [[nodiscard]] std::size_t line() const noexcept { return line_; }      ///< from 1; 0 without a position
  [[nodiscard]] std::size_t column() const noexcept { return column_; }  ///< from 1, in bytes; 0 without a position
  [[nodiscard]] const std::string& excerpt() const noexcept { return excerpt_; }  ///< the line with a caret below it

 private:
  std::string sentence_;
  std::optional<std::size_t> position_;
  std::size_t line_ = 0;
  std::size_t column_ = 0;
  std::string excerpt_;
};

}  // namespace espalier::engine
