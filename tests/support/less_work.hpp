// less_work.hpp - sanitizers multiply run time; tests that only gain by repetition divide theirs by this.
#pragma once

#include <cstdint>

namespace espalier::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr std::uint32_t less_work = 10;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr std::uint32_t less_work = 4;
#else
inline constexpr std::uint32_t less_work = 1;
#endif

}  // namespace espalier::test
