// engine_error.hpp - errors that a program can tell apart: a kind, and a SQLSTATE of PostgreSQL's list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "espalier/core/error.hpp"

namespace espalier::engine {

enum class error_kind : std::uint8_t {
  syntax,      ///< the text is not a statement
  refused,     ///< a name, a type or a construct of the statement
  execution,   ///< a value, while the statement ran
  constraint,  ///< PRIMARY KEY, UNIQUE or NOT NULL
  file,        ///< the file system refused an operation
  damaged,     ///< a stored file is not what was written
  in_use,      ///< another process has the database open, or has changed it
  read_only,   ///< a change to a database that is open for reading
  memory,      ///< memory ran out
  internal,    ///< a defect of the engine
};

struct error_code {
  error_kind kind = error_kind::refused;
  std::string_view sqlstate = "42000";  ///< five characters, of a literal
};

namespace codes {
inline constexpr error_code syntax_error{error_kind::syntax, "42601"};
inline constexpr error_code invalid_text{error_kind::syntax, "22021"};
inline constexpr error_code refused_statement{error_kind::refused, "42000"};
inline constexpr error_code undefined_table{error_kind::refused, "42P01"};
inline constexpr error_code undefined_object{error_kind::refused, "42704"};
inline constexpr error_code duplicate_table{error_kind::refused, "42P07"};
inline constexpr error_code duplicate_object{error_kind::refused, "42710"};
inline constexpr error_code dependent_objects{error_kind::refused, "2BP01"};
inline constexpr error_code data_exception{error_kind::execution, "22000"};
inline constexpr error_code cardinality_violation{error_kind::execution, "21000"};
inline constexpr error_code unique_violation{error_kind::constraint, "23505"};
inline constexpr error_code not_null_violation{error_kind::constraint, "23502"};
inline constexpr error_code io_error{error_kind::file, "58030"};
inline constexpr error_code undefined_file{error_kind::file, "58P01"};
inline constexpr error_code disk_full{error_kind::file, "53100"};
inline constexpr error_code data_corrupted{error_kind::damaged, "XX001"};
inline constexpr error_code object_in_use{error_kind::in_use, "55006"};
inline constexpr error_code read_only_database{error_kind::read_only, "25006"};
inline constexpr error_code no_transaction{error_kind::refused, "25P01"};
inline constexpr error_code failed_transaction{error_kind::refused, "25P02"};
inline constexpr error_code invalid_parameter{error_kind::refused, "22023"};
inline constexpr error_code too_complex{error_kind::refused, "54001"};
inline constexpr error_code out_of_memory{error_kind::memory, "53200"};
inline constexpr error_code internal_error{error_kind::internal, "XX000"};
}  // namespace codes

/// What a database throws, apart from `statement_stopped`: when it is opened this, for statements `sql_error`.
class engine_error : public error {
 public:
  explicit engine_error(const std::string& sentence, const error_code& code) : error(sentence), code_(code) {}

  [[nodiscard]] error_kind kind() const noexcept { return code_.kind; }
  [[nodiscard]] std::string_view sqlstate() const noexcept { return code_.sqlstate; }
  [[nodiscard]] const error_code& code() const noexcept { return code_; }

 private:
  error_code code_;
};

}  // namespace espalier::engine
