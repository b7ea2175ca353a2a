// nearest_smaller.hpp - finds the nearest smaller neighbour in an array, to the left or right, by going up and down a
// tree of minima of 32 neighbours each, most often only a few levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "espalier/core/config.hpp"
#include "espalier/device/buffer.hpp"

namespace espalier::detail {

struct minima {
  static constexpr unsigned width = 32, most_levels = 8;
  const std::uint32_t* level[most_levels];
  std::size_t size[most_levels];
  unsigned levels;

  /// Returns the greatest j < i with a[j] < x, which must exist.
  [[nodiscard]] ESPALIER_HD std::size_t before(std::size_t i, std::uint32_t x) const {
    unsigned l = 0;
    for (;;) {
      const std::size_t block = i / width * width;
      while (i > block && level[l][i - 1] >= x) --i;
      if (i > block) break;
      i = block / width;
      ++l;
    }
    --i;
    while (l != 0) {
      --l;
      i = (i + 1) * width;
      if (i > size[l]) i = size[l];
      do --i;
      while (level[l][i] >= x);
    }
    return i;
  }
  /// Returns the least j > i with a[j] < x, which must exist.
  [[nodiscard]] ESPALIER_HD std::size_t after(std::size_t i, std::uint32_t x) const {
    unsigned l = 0;
    ++i;
    for (;;) {
      std::size_t end = (i + width - 1) / width * width;
      if (end > size[l]) end = size[l];
      while (i < end && level[l][i] >= x) ++i;
      if (i < end) break;
      i = (i + width - 1) / width;
      ++l;
    }
    while (l != 0) {
      --l;
      i *= width;
      while (level[l][i] >= x) ++i;
    }
    return i;
  }
};

struct write_minima {
  const std::uint32_t* below;
  std::size_t size;
  std::uint32_t* to;
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::size_t begin = i * minima::width, end = begin + minima::width < size ? begin + minima::width : size;
    std::uint32_t least = below[begin];
    for (std::size_t j = begin + 1; j < end; ++j) least = below[j] < least ? below[j] : least;
    to[i] = least;
  }
};

/// Built over an array that must outlive it.
template <class Context>
class range_min_tree {
 public:
  range_min_tree(Context& context, const std::uint32_t* a, std::size_t n) {
    view_.level[0] = a;
    view_.size[0] = n;
    view_.levels = 1;
    while (view_.size[view_.levels - 1] > minima::width) {
      const unsigned l = view_.levels++;
      const std::size_t size = (view_.size[l - 1] + minima::width - 1) / minima::width;
      memory_.emplace_back(context.get_device(), size, context.order());
      context.for_each(size, write_minima{view_.level[l - 1], view_.size[l - 1], memory_.back().data()});
      view_.level[l] = memory_.back().data();
      view_.size[l] = size;
    }
  }
  [[nodiscard]] const minima& view() const { return view_; }

 private:
  std::vector<buffer<std::uint32_t>> memory_;
  minima view_{};
};

}  // namespace espalier::detail
