// u32_set.cpp - the suite for 32-bit unsigned keys. No values: aggregates are over the keys.
#include "conformance/conformance.hpp"

ESPALIER_CONFORMANCE(u32_set, std::uint32_t, void)
