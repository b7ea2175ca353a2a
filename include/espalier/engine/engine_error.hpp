// engine_error.hpp - errors of the engine with a kind and a SQLSTATE of PostgreSQL's list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "espalier/core/error.hpp"

namespace espalier::engine {

enum class error_kind : std::uint8_t {
  syntax,      ///< the text is not a statement
  refused,     ///< a name, a type or a construct of the statement is invalid or not supported
  execution,   ///< a value caused an error while the statement ran
  constraint,  ///< PRIMARY KEY, UNIQUE or NOT NULL
  file,        ///< a file system operation failed
  damaged,     ///< a stored file is damaged
  in_use,      ///< another process has the database open, or has changed it
  read_only,   ///< a change of a database that is open for reading
  memory,      ///< out of memory
  internal,    ///< a defect of the engine
};

struct error_code {
  error_kind kind = error_kind::refused;
  std::string_view sqlstate = "42000";  ///< five characters of a string literal
};

namespace codes {
inline constexpr error_code syntax_error{error_kind::syntax, "42601"};
inline constexpr error_code invalid_text{error_kind::syntax, "22021"};
inline constexpr error_code refused_statement{error_kind::refused, "42000"};
inline constexpr error_code feature_not_supported{error_kind::refused, "0A000"};
inline constexpr error_code undefined_column{error_kind::refused, "42703"};
inline constexpr error_code ambiguous_column{error_kind::refused, "42702"};
inline constexpr error_code duplicate_column{error_kind::refused, "42701"};
inline constexpr error_code duplicate_alias{error_kind::refused, "42712"};
inline constexpr error_code undefined_function{error_kind::refused, "42883"};
inline constexpr error_code undefined_parameter{error_kind::refused, "42P02"};
inline constexpr error_code windowing_error{error_kind::refused, "42P20"};
inline constexpr error_code wrong_object_type{error_kind::refused, "42809"};
inline constexpr error_code grouping_error{error_kind::refused, "42803"};
inline constexpr error_code datatype_mismatch{error_kind::refused, "42804"};
inline constexpr error_code cannot_coerce{error_kind::refused, "42846"};
inline constexpr error_code indeterminate_datatype{error_kind::refused, "42P18"};
inline constexpr error_code invalid_column_reference{error_kind::refused, "42P10"};
inline constexpr error_code invalid_table_definition{error_kind::refused, "42P16"};
inline constexpr error_code insufficient_privilege{error_kind::refused, "42501"};
inline constexpr error_code program_limit_exceeded{error_kind::refused, "54000"};
inline constexpr error_code undefined_table{error_kind::refused, "42P01"};
inline constexpr error_code undefined_object{error_kind::refused, "42704"};
inline constexpr error_code duplicate_table{error_kind::refused, "42P07"};
inline constexpr error_code duplicate_object{error_kind::refused, "42710"};
inline constexpr error_code dependent_objects{error_kind::refused, "2BP01"};
inline constexpr error_code data_exception{error_kind::execution, "22000"};
inline constexpr error_code string_too_long{error_kind::execution, "22001"};
inline constexpr error_code division_by_zero{error_kind::execution, "22012"};
inline constexpr error_code numeric_value_out_of_range{error_kind::execution, "22003"};
inline constexpr error_code invalid_text_representation{error_kind::execution, "22P02"};
inline constexpr error_code invalid_datetime_format{error_kind::execution, "22007"};
inline constexpr error_code datetime_overflow{error_kind::execution, "22008"};
inline constexpr error_code invalid_parameter_value{error_kind::execution, "22023"};
inline constexpr error_code invalid_escape_sequence{error_kind::execution, "22025"};
inline constexpr error_code substring_error{error_kind::execution, "22011"};
inline constexpr error_code invalid_frame_offset{error_kind::execution, "22013"};
inline constexpr error_code null_not_allowed{error_kind::execution, "22004"};
inline constexpr error_code invalid_ntile_argument{error_kind::execution, "22014"};
inline constexpr error_code invalid_nth_value_argument{error_kind::execution, "22016"};
inline constexpr error_code invalid_limit{error_kind::execution, "2201W"};
inline constexpr error_code invalid_offset{error_kind::execution, "2201X"};
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
inline constexpr error_code too_complex{error_kind::refused, "54001"};
inline constexpr error_code out_of_memory{error_kind::memory, "53200"};
inline constexpr error_code internal_error{error_kind::internal, "XX000"};
}  // namespace codes

/// Exception of a database. Opening throws engine_error, statements throw the derived `sql_error`; a cancelled
/// statement throws `query_cancelled`.
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
