// i8.cpp - the suite for 8-bit signed keys. 256 keys at most: long runs of equal ones.
#include "conformance/conformance.hpp"

ESPALIER_CONFORMANCE(i8_u32, std::int8_t, std::uint32_t)
