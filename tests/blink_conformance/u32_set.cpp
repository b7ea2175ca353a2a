// u32_set.cpp - the suite for sets of 32-bit unsigned keys: aggregates are over the keys.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_CONFORMANCE(blink_u32_set, std::uint32_t, void)
