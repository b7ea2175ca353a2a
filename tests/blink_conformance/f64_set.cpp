// f64_set.cpp - the suite for sets of double keys: NaN, both zeros and both infinities are members like any other.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_CONFORMANCE(blink_f64_set, double, void)
