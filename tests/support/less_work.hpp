// less_work.hpp - a divisor for tests that only gain by repetition, since sanitizers multiply run time.
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
