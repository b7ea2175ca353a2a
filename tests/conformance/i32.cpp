// i32.cpp - the suite for 32-bit signed keys. Values that are floats, and values of three bytes in a slot of four.
#include "conformance/conformance.hpp"

ESPALIER_CONFORMANCE(i32_f32, std::int32_t, float)
ESPALIER_CONFORMANCE(i32_bytes3, std::int32_t, bytes<3>)
