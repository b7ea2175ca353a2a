// coded_refusal.hpp - a refusal with a SQLSTATE of its own, where 42000 says too little.
#pragma once

#include <string>

#include "engine/sql/error.hpp"
#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {

class coded_refusal : public located_error {
 public:
  coded_refusal(const error_code& code, const std::string& sentence, int position)
      : located_error(sentence, position), code_(code) {}
  [[nodiscard]] const error_code& code() const noexcept { return code_; }

 private:
  error_code code_;
};

[[noreturn]] inline void refuse(const error_code& code, int position, const std::string& sentence) {
  throw coded_refusal(code, sentence, position);
}

}  // namespace espalier::engine
