// assets.hpp - the files of web/, embedded at build time (cmake/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace espalier::explorer {

struct asset {
  std::string_view path;  ///< as in a URL: /app.js
  std::string_view bytes;
};
[[nodiscard]] std::span<const asset> assets();

}  // namespace espalier::explorer
