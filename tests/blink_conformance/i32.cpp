// i32.cpp - the suite for 32-bit signed keys, with float values.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_CONFORMANCE(blink_i32_f32, std::int32_t, float)
