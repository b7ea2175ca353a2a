// u32_pair.cpp - the suite for 32-bit unsigned keys and values of the largest size, which are no numbers.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_CONFORMANCE(blink_u32_pair, std::uint32_t, pair_of_words)
