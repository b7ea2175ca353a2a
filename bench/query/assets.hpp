// assets.hpp - the files of bench/query/peer/, embedded at build time (cmake/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace espalier::bench {

struct asset {
  std::string_view path;  ///< with a leading slash
  std::string_view bytes;
};
[[nodiscard]] std::span<const asset> assets();

}  // namespace espalier::bench
