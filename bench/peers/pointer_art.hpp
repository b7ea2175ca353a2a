// pointer_art.hpp - an adaptive radix tree of the usual kind, as a peer: nodes for 4, 16, 48 and 256 children, each
// allocated by itself and reached by a pointer (Leis, Kemper, Neumann 2013). A node keeps the first bytes of the path
// above it that its keys share; what is longer is skipped and compared in the leaf, which has the whole key.
//
// As in the original no key may be the beginning of another; all data sets of the benchmark are so.
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

  /// False, with nothing changed, if the key is there. Throws `error` if a key begins with another.
  bool insert(std::string_view key, std::uint64_t value);
  /// Where its value is; null if there is no such key. Many threads may ask at once.
  [[nodiscard]] std::uint64_t* find(std::string_view key) const;
  [[nodiscard]] std::size_t size() const { return size_; }

  /// How many nodes there are with room for 4, 16, 48 and 256 children.
  struct node_counts {
    std::size_t of[4] = {};
  };
  [[nodiscard]] node_counts count_nodes() const;

  /// Address of a node, or of a leaf and one more: nodes and leaves are aligned to 8 bytes.
  using link = std::uintptr_t;

 private:
  link root_ = 0;
  std::size_t size_ = 0;
};

}  // namespace espalier::bench
