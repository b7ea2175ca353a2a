#include "engine/exec/arrow_result.hpp"

#include <cctype>

#include "engine/sql/error.hpp"

namespace espalier::engine {

void fail(const arrow::Status& status, int position) {
  std::string message = status.message();
  if (message == "overflow")
    message = "The result of this operation does not fit its type; cast an operand to a wider one";
  if (message == "divide by zero") message = "Division by zero";
  if (!message.empty()) message[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(message[0])));
  if (message.empty() || message.back() != '.') message += '.';
  refuse(position, message);
}

}  // namespace espalier::engine
