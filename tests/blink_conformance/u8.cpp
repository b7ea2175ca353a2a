// u8.cpp - the suite for 8-bit unsigned keys, of which there are 256, with 64-bit values.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_CONFORMANCE(blink_u8_u64, std::uint8_t, std::uint64_t)
