// i16.cpp - the suite for 16-bit signed keys. A 32-bit word with an 8-byte value, summed into 128 bits.
#include "conformance/conformance.hpp"

ESPALIER_CONFORMANCE(i16_i64, std::int16_t, std::int64_t)
