// days.cpp - the suite for calendar days: as the standard library counts them, and packed into 32 bits.
#include <chrono>

#include "conformance/conformance.hpp"

using packed_day =
    std::chrono::time_point<std::chrono::system_clock, std::chrono::duration<std::int32_t, std::ratio<86400>>>;

ESPALIER_CONFORMANCE(days_i8, std::chrono::sys_days, std::int8_t)
ESPALIER_CONFORMANCE(packed_days_set, packed_day, void)
