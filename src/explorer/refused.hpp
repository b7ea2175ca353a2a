// refused.hpp - a refused request, with its HTTP status.
#pragma once

#include <string>

#include "espalier/core/error.hpp"

namespace espalier::explorer {

class refused : public error {
 public:
  refused(int code, const std::string& what) : error(what), status(code) {}
  int status;
};

}  // namespace espalier::explorer
