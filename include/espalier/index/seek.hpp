// seek.hpp - how queries refer to the order of keys. All owners use these words in one meaning:
//
//   lower_bound   the first element whose key is not less than the query
//   upper_bound   the first element with a greater key; also called successor
//   predecessor   the last element with a smaller key
//   rank          a position: the number of keys less than the query, with bound_type::upper not greater than it
//   select        the element of a rank
#pragma once

#include <cstdint>

namespace espalier {

/// The bound of a key whose position rank() gives.
enum class bound_type : std::uint8_t { lower, upper };

namespace detail {

enum class seek_kind : std::uint8_t { lower_bound, successor, predecessor };

}  // namespace detail
}  // namespace espalier
