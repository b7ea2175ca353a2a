// line_reader.hpp - reads lines from the user, with editing and history if the build has libedit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace espalier::cli {

struct typed_line {
  enum class what : std::uint8_t { line, dropped, end };  ///< dropped means cancelled by Ctrl-C
  what kind;
  std::string text;  ///< without the line terminator
};

class line_reader {
 public:
  line_reader();  ///< loads the history of earlier sessions
  line_reader(const line_reader&) = delete;
  line_reader& operator=(const line_reader&) = delete;

  [[nodiscard]] typed_line read(const std::string& prompt);
  /// Adds a whole statement to the history of this and later sessions.
  void remember(const std::string& statement);

 private:
  std::filesystem::path history_;
};

}  // namespace espalier::cli
