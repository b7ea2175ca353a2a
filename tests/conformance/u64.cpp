// u64.cpp - the suite for 64-bit unsigned keys: the pair that benchmarks use, and a small value in a slot of four.
#include "conformance/conformance.hpp"

ESPALIER_CONFORMANCE(u64_u64, std::uint64_t, std::uint64_t)
ESPALIER_CONFORMANCE_OF_A_MILLION(u64_u64)
ESPALIER_CONFORMANCE(u64_i16, std::uint64_t, std::int16_t)
