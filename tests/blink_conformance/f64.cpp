// f64.cpp - the suite for double keys, with 32-bit values in nodes of 64-bit keys.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_CONFORMANCE(blink_f64_u32, double, std::uint32_t)
