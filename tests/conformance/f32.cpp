// f32.cpp - the suite for float keys. Signed values, and values of five bytes in a slot of eight.
#include "conformance/conformance.hpp"

ESPALIER_CONFORMANCE(f32_i32, float, std::int32_t)
ESPALIER_CONFORMANCE(f32_bytes5, float, bytes<5>)
