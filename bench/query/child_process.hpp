// child_process.hpp - a program that answers lines with lines, until one of the two ends.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace espalier::bench {

class child_process {
 public:
  /// Starts words[0], found in PATH, with the others as its arguments; what it says on standard error goes where ours
  /// does unless `quiet`. Throws `error` if it cannot be started.
  child_process(const std::vector<std::string>& words, bool quiet);
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  /// Ends its input and waits for it.
  ~child_process();

  /// Sends a line and waits for one; nothing if the child has ended.
  [[nodiscard]] std::optional<std::string> ask(const std::string& line);

 private:
  [[nodiscard]] bool send(std::string text);
  [[nodiscard]] std::optional<std::string> receive();

  pid_t id_ = -1;
  int socket_ = -1;
  std::string pending_;  ///< bytes received behind the last line
};

}  // namespace espalier::bench
