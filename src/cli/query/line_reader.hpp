// line_reader.hpp - lines that a person types, with editing and history where the build has libedit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace espalier::cli {

struct typed_line {
  enum class what : std::uint8_t { line, dropped, end };  ///< dropped: by Ctrl-C
  what kind;
  std::string text;  ///< without the line's end
};

class line_reader {
 public:
  line_reader();  ///< with the history of earlier sessions
  line_reader(const line_reader&) = delete;
  line_reader& operator=(const line_reader&) = delete;

  [[nodiscard]] typed_line read(const std::string& prompt);
  /// A whole statement, to be found again by the arrow keys, now and in later sessions.
  void remember(const std::string& statement);

 private:
  std::filesystem::path history_;
};

}  // namespace espalier::cli
