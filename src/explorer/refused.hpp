// refused.hpp - a request that is not done, with the HTTP status that says why.
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
