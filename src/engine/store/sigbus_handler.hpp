// sigbus_handler.hpp - survives the truncation of a mapped file by another program.
//
// Reading a page of a mapping behind the end of its file raises SIGBUS. The handler replaces such pages of registered
// ranges by zeros and marks the range as lost, so that the reading thread continues; the statement checks its files
// before it returns and fails (table_files.hpp). All other faults go to the handler that was installed before.
#pragma once

#include <cstddef>

namespace espalier::engine {

/// Installs the handler for the rest of the process, once. A handler that the program installs later replaces it.
void install_sigbus_handler();

/// Registers a mapped range during its lifetime, whether or not the handler is installed.
class guarded_range {
 public:
  guarded_range(const std::byte* data, std::size_t bytes);
  guarded_range(const guarded_range&) = delete;
  guarded_range& operator=(const guarded_range&) = delete;
  ~guarded_range();

  /// Returns whether pages of the range have been replaced by zeros.
  [[nodiscard]] bool has_lost_pages() const noexcept;

 private:
  struct slot;
  friend struct registered_ranges;
  slot* slot_;
};

}  // namespace espalier::engine
