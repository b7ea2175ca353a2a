// grt_image.hpp - a radix tree like GRT, the earlier radix tree for GPUs, as the CuART paper describes it, as a peer on
// CPU and GPU. All nodes and leaves are in one buffer, packed in traversal order and referenced by byte offsets. The
// kind of a node is in its header, so the header has to be loaded before the next read can be issued; keys are compared
// byte by byte. The tree is read-only except for values.
//
// GRT's own code was not available. This was written from that description, with the sizes and offsets of ART with
// 8-byte links. Everything is aligned to 8 bytes, as GPU loads require.
//
//   header     kind, children, 2 unused, u32 length of the path, its first 8 bytes
//   node 4     4 keys, 4 unused, 4 links      node 16   16 keys, 16 links
//   node 48    256 slots, 48 links            node 256  256 links, 0 for none
//   leaf       kind, 3 unused, u32 length of the key, u64 value, the key
// No key may be a prefix of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "bench/data/radix_data.hpp"
#include "espalier/core/config.hpp"
#include "espalier/radix_tree/key.hpp"

namespace espalier::bench {

namespace grt {

enum kind : std::uint8_t { leaf = 1, node_4, node_16, node_48, node_256 };

inline constexpr std::size_t header_bytes = 16;
inline constexpr std::uint32_t stored_path = 8;
inline constexpr std::size_t node_bytes[] = {0, 0, 16 + 8 + 4 * 8, 16 + 16 + 16 * 8, 16 + 256 + 48 * 8, 16 + 256 * 8};

inline constexpr std::uint64_t nowhere = ~std::uint64_t{0};

ESPALIER_INLINE std::size_t links_at(kind what) {
  return what == node_4 ? 16 + 8 : what == node_16 ? 16 + 16 : what == node_48 ? 16 + 256 : 16;
}
template <class T>
ESPALIER_INLINE const T& at(const std::uint8_t* p) {
  return *reinterpret_cast<const T*>(p);
}

/// Returns the offset of the next node or leaf, or nowhere.
ESPALIER_HD inline std::uint64_t child_of(const std::uint8_t* node, std::uint8_t byte) {
  const std::uint8_t* const keys = node + header_bytes;
  const auto what = static_cast<kind>(node[0]);
  const std::uint8_t* const links = node + links_at(what);
  if (what <= node_16) {
    for (unsigned i = 0; i < node[1]; ++i) {
      if (keys[i] == byte) return at<std::uint64_t>(links + i * 8);
    }
    return nowhere;
  }
  if (what == node_48) return keys[byte] == 0 ? nowhere : at<std::uint64_t>(links + (keys[byte] - 1u) * 8);
  const std::uint64_t next = at<std::uint64_t>(links + byte * 8u);
  return next == 0 ? nowhere : next;
}

/// Returns the offset of the key's leaf, or nowhere. The root, if there is one, is at 0.
ESPALIER_HD inline std::uint64_t find_leaf(const std::uint8_t* image, const byte_key_view& key) {
  std::uint64_t offset = 0;
  std::uint32_t depth = 0;
  for (;;) {
    const std::uint8_t* const node = image + offset;
    const std::uint32_t length = at<std::uint32_t>(node + 4);
    if (node[0] == leaf) {
      if (length != key.size) return nowhere;
      for (std::uint32_t i = 0; i < length; ++i) {
        if (node[header_bytes + i] != key.bytes[i]) return nowhere;
      }
      return offset;
    }
    if (depth + length >= key.size) return nowhere;
    const std::uint32_t stored = length < stored_path ? length : stored_path;
    for (std::uint32_t i = 0; i < stored; ++i) {
      if (node[8 + i] != key.bytes[depth + i]) return nowhere;
    }
    depth += length;
    offset = child_of(node, key.bytes[depth]);
    if (offset == nowhere) return nowhere;
    ++depth;
  }
}

}  // namespace grt

class grt_image {
 public:
  explicit grt_image(const radix_data& data);

  /// Empty if there are no keys.
  [[nodiscard]] std::span<const std::uint64_t> words() const { return words_.as<const std::uint64_t>(); }
  /// The interface of a peer on a CPU.
  [[nodiscard]] std::uint64_t* find(std::string_view key);

 private:
  column words_;
};

}  // namespace espalier::bench
