// errors.hpp - the two kinds of failures of `espalier` that main.cpp distinguishes.
#pragma once

#include <stdexcept>

namespace espalier::cli {

/// Invalid arguments: one sentence for the user, exit code 2.
class bad_arguments : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The index and a peer disagree, which is a defect: exit code 1.
class wrong_answer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace espalier::cli
