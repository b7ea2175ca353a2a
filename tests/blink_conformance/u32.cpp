// u32.cpp - the suite for 32-bit unsigned keys: the pair that benchmarks use.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_CONFORMANCE(blink_u32_u32, std::uint32_t, std::uint32_t)
