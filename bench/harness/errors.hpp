// errors.hpp - the two ways in which a command of `espalier` fails that main.cpp tells apart.
#pragma once

#include <stdexcept>

namespace espalier::bench {

/// Arguments that cannot be used: one sentence for the user, exit code 2.
class bad_arguments : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The index and a peer disagree: a defect, exit code 1.
class wrong_answer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace espalier::bench
