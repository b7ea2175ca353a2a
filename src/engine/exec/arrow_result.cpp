#include "engine/expr/sql_arrow_status.hpp"

#include <cctype>

#include "engine/error.hpp"
#include "engine/expr/text_pieces.hpp"

namespace espalier::engine {

void fail(const arrow::Status& status, int position) {
  if (status.IsCapacityError()) throw text_overflow(position);
  std::string message = status.message();
  const bool overflows = message == "overflow", divides_by_zero = message == "divide by zero";
  if (overflows) message = "The result of this operation does not fit its type; cast an operand to a wider one";
  if (divides_by_zero) message = "Division by zero";
  if (!message.empty()) message[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(message[0])));
  if (message.empty() || message.back() != '.') message += '.';
  if (overflows) throw_sql_error(codes::numeric_value_out_of_range, position, message);
  if (divides_by_zero) throw_sql_error(codes::division_by_zero, position, message);
  throw_sql_error(position, message);
}

}  // namespace espalier::engine
