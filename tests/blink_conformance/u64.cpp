// u64.cpp - the suite for 64-bit unsigned keys: the pair that benchmarks use.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_CONFORMANCE(blink_u64_u64, std::uint64_t, std::uint64_t)
