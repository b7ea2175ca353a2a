// i64.cpp - the suite for 64-bit signed keys, with double values.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_CONFORMANCE(blink_i64_f64, std::int64_t, double)
