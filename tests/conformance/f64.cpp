// f64.cpp - the suite for double keys: values that are doubles, and a set whose aggregates meet NaN and infinity.
#include "conformance/conformance.hpp"

ESPALIER_CONFORMANCE(f64_f64, double, double)
ESPALIER_CONFORMANCE(f64_set, double, void)
