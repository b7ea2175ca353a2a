// triangle_mesh.hpp - edges of a generated triangle mesh, in the order of its triangles.
//
// The mesh is a sheet of square cells, each split into two triangles along a random diagonal, so that vertices have
// four to eight neighbours. Vertices are numbered at random, as after an unordered refinement. Triangle t has the edges
// 3t, 3t + 1 and 3t + 2, so an inner edge occurs twice: numbering the edges of a mesh inserts each of them and looks it
// up again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "bench/data/random.hpp"

namespace espalier::bench {

class triangle_mesh {
 public:
  /// Uses as many cells as `edges` edges, including duplicates, need.
  triangle_mesh(std::uint64_t edges, std::uint64_t seed)
      : seed_(seed),
        width_(std::max<std::uint64_t>(
            static_cast<std::uint64_t>(std::ceil(std::sqrt(static_cast<double>((edges + 5) / 6)))), 1)),
        numbers_(vertices(edges), seed) {}

  [[nodiscard]] std::uint64_t vertices(std::uint64_t edges) const {
    const std::uint64_t cells = (edges + 5) / 6;
    return (width_ + 1) * ((cells + width_ - 1) / width_ + 1);
  }
  /// Returns the ends of edge i, the smaller one first.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> edge(std::uint64_t i) const {
    const std::uint64_t triangle = i / 3, corner = i % 3;
    const std::uint64_t a = vertex_of(triangle, corner), b = vertex_of(triangle, (corner + 1) % 3);
    return std::minmax(a, b);
  }

 private:
  [[nodiscard]] std::uint64_t vertex_of(std::uint64_t triangle, std::uint64_t corner) const {
    // The corners of a cell: bit 0 is right, bit 1 is up. There are two triangles per diagonal.
    static constexpr unsigned corners[2][2][3] = {{{0, 1, 3}, {0, 3, 2}}, {{0, 1, 2}, {1, 3, 2}}};
    const std::uint64_t cell = triangle / 2;
    const unsigned at = corners[random_bits(seed_, cell) & 1][triangle % 2][corner];
    const std::uint64_t x = cell % width_ + (at & 1), y = cell / width_ + (at >> 1);
    return numbers_(y * (width_ + 1) + x);
  }

  std::uint64_t seed_;
  std::uint64_t width_;
  permutation numbers_;
};

}  // namespace espalier::bench
