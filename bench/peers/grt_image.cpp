// grt_image.cpp - see grt_image.hpp.
#include "bench/peers/grt_image.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "espalier/core/error.hpp"

namespace espalier::bench {
namespace {

/// Subtrees with more keys are written by several threads.
constexpr std::uint64_t much = std::uint64_t{1} << 14;

std::size_t leaf_bytes(std::string_view key) { return grt::header_bytes + (key.size() + 7) / 8 * 8; }

grt::kind kind_for(std::size_t children) {
  if (children <= 4) return grt::node_4;
  if (children <= 16) return grt::node_16;
  return children <= 48 ? grt::node_48 : grt::node_256;
}

/// The keys of ranks [first, last) with equal bytes before `depth`, and the position where they diverge.
class packer {
 public:
  packer(const radix_data& data, const sorted_strings& sorted) : data_(data), sorted_(sorted) {}

  /// Returns the size of the subtree.
  [[nodiscard]] std::size_t bytes_of(std::uint64_t first, std::uint64_t last) const {
    if (last - first == 1) return leaf_bytes(sorted_[first]);
    const std::vector<std::uint64_t> cuts = children(first, last, parting(first, last));
    std::size_t total = grt::node_bytes[kind_for(cuts.size() - 1)];
    for (const std::size_t bytes : sizes(cuts)) total += bytes;
    return total;
  }
  /// Writes the subtree at `offset` and returns its end.
  std::uint64_t write(std::uint64_t first, std::uint64_t last, std::size_t depth, std::uint64_t offset,
                      std::uint8_t* image) const {
    if (last - first == 1) return write_leaf(first, offset, image);
    const std::size_t parts_at = parting(first, last);
    const std::vector<std::uint64_t> cuts = children(first, last, parts_at);
    const grt::kind kind = kind_for(cuts.size() - 1);
    std::uint8_t* const node = image + offset;
    write_header(node, kind, cuts.size() - 1, sorted_[first].substr(depth, parts_at - depth));
    std::uint64_t next = offset + grt::node_bytes[kind];
    if (last - first < much) {
      for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
        hang(node, kind, c, byte_at(cuts[c], parts_at), next);
        next = write(cuts[c], cuts[c + 1], parts_at + 1, next, image);
      }
      return next;
    }
    std::vector<std::uint64_t> offsets;
    const std::vector<std::size_t> bytes = sizes(cuts);
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      hang(node, kind, c, byte_at(cuts[c], parts_at), next);
      offsets.push_back(next);
      next += bytes[c];
    }
    tbb::parallel_for(std::size_t{0}, offsets.size(),
                      [&](std::size_t c) { write(cuts[c], cuts[c + 1], parts_at + 1, offsets[c], image); });
    return next;
  }

 private:
  [[nodiscard]] std::uint8_t byte_at(std::uint64_t rank, std::size_t at) const {
    const std::string_view key = sorted_[rank];
    if (at >= key.size()) throw error("grt_image: a key is the beginning of another.");
    return static_cast<std::uint8_t>(key[at]);
  }
  [[nodiscard]] std::size_t parting(std::uint64_t first, std::uint64_t last) const {
    const std::string_view a = sorted_[first], b = sorted_[last - 1];
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  }
  /// Returns the first rank of each child, and `last`.
  [[nodiscard]] std::vector<std::uint64_t> children(std::uint64_t first, std::uint64_t last, std::size_t at) const {
    std::vector<std::uint64_t> cuts{first};
    while (cuts.back() != last) {
      const std::uint8_t byte = byte_at(cuts.back(), at);
      std::uint64_t low = cuts.back() + 1, step = 1;  // gallops: most children of deep nodes are leaves
      while (low < last && byte_at(low, at) == byte) {
        low = std::min(low + step, last);
        step *= 2;
      }
      std::uint64_t high = low;
      low = std::max(cuts.back() + 1, low > step ? low - step : 0);
      while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        byte_at(middle, at) == byte ? low = middle + 1 : high = middle;
      }
      cuts.push_back(low);
    }
    return cuts;
  }
  [[nodiscard]] std::vector<std::size_t> sizes(const std::vector<std::uint64_t>& cuts) const {
    std::vector<std::size_t> bytes(cuts.size() - 1);
    const auto one = [&](std::size_t c) { bytes[c] = bytes_of(cuts[c], cuts[c + 1]); };
    if (cuts.back() - cuts.front() < much) {
      for (std::size_t c = 0; c < bytes.size(); ++c) one(c);
    } else {
      tbb::parallel_for(std::size_t{0}, bytes.size(), one);
    }
    return bytes;
  }

  static void write_header(std::uint8_t* node, grt::kind kind, std::size_t children, std::string_view path) {
    const auto length = static_cast<std::uint32_t>(path.size());
    std::memset(node, 0, grt::node_bytes[kind]);
    node[0] = kind;
    node[1] = static_cast<std::uint8_t>(children);  // 0 for 256 children; not used then
    std::memcpy(node + 4, &length, 4);
    std::memcpy(node + 8, path.data(), std::min(length, grt::stored_path));
  }
  std::uint64_t write_leaf(std::uint64_t rank, std::uint64_t offset, std::uint8_t* image) const {
    const std::string_view key = sorted_[rank];
    const auto length = static_cast<std::uint32_t>(key.size());
    const std::uint64_t value = data_.values().as<const std::uint64_t>()[sorted_.position(rank)];
    std::uint8_t* const to = image + offset;
    std::memset(to, 0, leaf_bytes(key));
    to[0] = grt::leaf;
    std::memcpy(to + 4, &length, 4);
    std::memcpy(to + 8, &value, 8);
    std::memcpy(to + grt::header_bytes, key.data(), key.size());
    return offset + leaf_bytes(key);
  }
  static void hang(std::uint8_t* node, grt::kind kind, std::size_t number, std::uint8_t byte, std::uint64_t child) {
    std::uint8_t* const keys = node + grt::header_bytes;
    std::size_t slot = number;
    if (kind <= grt::node_16) {
      keys[number] = byte;
    } else if (kind == grt::node_48) {
      keys[byte] = static_cast<std::uint8_t>(number + 1);
    } else {
      slot = byte;
    }
    std::memcpy(node + grt::links_at(kind) + slot * 8, &child, 8);
  }

  const radix_data& data_;
  const sorted_strings& sorted_;
};

}  // namespace

grt_image::grt_image(const radix_data& data) {
  const sorted_strings& sorted = data.sorted();
  if (sorted.size() == 0) return;
  const packer pack(data, sorted);
  // It is not cleared here; the threads that write a node clear it.
  words_ = column(scalar_kind::u64, pack.bytes_of(0, sorted.size()) / 8);
  pack.write(0, sorted.size(), 0, 0, reinterpret_cast<std::uint8_t*>(words_.data()));
}

std::uint64_t* grt_image::find(std::string_view key) {
  if (words_.size() == 0) return nullptr;
  const auto* const image = reinterpret_cast<const std::uint8_t*>(words_.data());
  const byte_key_view view{reinterpret_cast<const std::uint8_t*>(key.data()), static_cast<std::uint32_t>(key.size())};
  const std::uint64_t leaf = grt::find_leaf(image, view);
  return leaf == grt::nowhere ? nullptr : words_.as<std::uint64_t>().data() + (leaf + 8) / 8;
}

}  // namespace espalier::bench
