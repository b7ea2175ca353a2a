// timestamps.cpp - the suite for microseconds since 1970, as a map and as a set summed into 128 bits.
#include <chrono>

#include "conformance/conformance.hpp"

using timestamp = std::chrono::sys_time<std::chrono::microseconds>;

ESPALIER_CONFORMANCE(timestamp_u64, timestamp, std::uint64_t)
ESPALIER_CONFORMANCE(timestamp_set, timestamp, void)
