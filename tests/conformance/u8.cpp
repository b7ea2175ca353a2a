// u8.cpp - the suite for 8-bit unsigned keys. Values of one byte in a slot of four.
#include "conformance/conformance.hpp"

ESPALIER_CONFORMANCE(u8_u8, std::uint8_t, std::uint8_t)
