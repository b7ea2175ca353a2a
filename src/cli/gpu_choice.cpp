// gpu_choice.cpp - --device gpu, with error messages for command-line users.
#include <string>

#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "espalier/core/error.hpp"

namespace espalier::cli {

device gpu_for_command() try { return device::cuda(); } catch (const error& e) {
  std::string reason = e.what();
  const auto advice = reason.find("; use device::cpu()");  // the library's advice to programs
  if (advice != std::string::npos) reason = reason.substr(0, advice) + ".";
  throw bad_arguments("--device gpu cannot be used here; --device cpu can. " + reason);
}

}  // namespace espalier::cli
