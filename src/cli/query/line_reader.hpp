// line_reader.hpp - lines that a person types, with editing and history where the build has libedit.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace espalier::cli {

class line_reader {
 public:
  line_reader();  ///< with the history of earlier sessions
  line_reader(const line_reader&) = delete;
  line_reader& operator=(const line_reader&) = delete;
  ~line_reader();

  /// One line without its end; nothing at the end of the input.
  [[nodiscard]] std::optional<std::string> read(const std::string& prompt);
  /// A whole statement, to be found again by the arrow keys, now and in later sessions.
  void remember(const std::string& statement);

 private:
  std::filesystem::path history_;
};

}  // namespace espalier::cli
