// pointer_art.hpp - a conventional adaptive radix tree as a peer: nodes for 4, 16, 48 and 256 children, allocated
// individually and referenced by pointers (Leis, Kemper, Neumann 2013). A node stores the first bytes of the path that
// its keys share; longer paths are skipped and compared in the leaf, which has the whole key.
//
// As in the original, no key may be a prefix of another, which holds for all data sets of the benchmark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace espalier::bench {

class pointer_art {
 public:
  pointer_art() = default;
  pointer_art(const pointer_art&) = delete;
  pointer_art& operator=(const pointer_art&) = delete;
  ~pointer_art();

  /// Returns false, with nothing changed, if the key exists. Throws `error` if one key is a prefix of another.
  bool insert(std::string_view key, std::uint64_t value);
  /// Returns a pointer to the value, or null if the key does not exist. Thread-safe for concurrent finds.
  [[nodiscard]] std::uint64_t* find(std::string_view key) const;
  [[nodiscard]] std::size_t size() const { return size_; }

  /// The number of nodes for 4, 16, 48 and 256 children.
  struct node_counts {
    std::size_t of[4] = {};
  };
  [[nodiscard]] node_counts count_nodes() const;

  /// The address of a node, or of a leaf plus one; nodes and leaves are aligned to 8 bytes.
  using link = std::uintptr_t;

 private:
  link root_ = 0;
  std::size_t size_ = 0;
};

}  // namespace espalier::bench
