// u32.cpp - the suite for 32-bit unsigned keys. The pair that benchmarks use, and values of the largest size.
#include "conformance/conformance.hpp"

ESPALIER_CONFORMANCE(u32_u32, std::uint32_t, std::uint32_t)
ESPALIER_CONFORMANCE_OF_A_MILLION(u32_u32)
ESPALIER_CONFORMANCE(u32_pair, std::uint32_t, pair_of_words)
