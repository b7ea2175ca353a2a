// assets.hpp - the files of bench/query/peer/, embedded when the program was built (cmake/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace espalier::bench {

struct asset {
  std::string_view path;  ///< with a slash in front
  std::string_view bytes;
};
[[nodiscard]] std::span<const asset> assets();

}  // namespace espalier::bench
