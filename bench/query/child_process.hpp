// child_process.hpp - a child process that answers each line with a line, until one of the two exits.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace espalier::bench {

class child_process {
 public:
  /// Starts words[0], found in PATH, with the other words as arguments. Its standard error is inherited unless `quiet`.
  /// Throws `error` if it cannot be started.
  child_process(const std::vector<std::string>& words, bool quiet);
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  /// Closes its input and waits for it.
  ~child_process();

  /// Sends a line and waits for one; returns nothing if the child has exited.
  [[nodiscard]] std::optional<std::string> ask(const std::string& line);

 private:
  [[nodiscard]] bool send(std::string text);
  [[nodiscard]] std::optional<std::string> receive();

  pid_t id_ = -1;
  int socket_ = -1;
  std::string pending_;  ///< bytes received after the last line
};

}  // namespace espalier::bench
