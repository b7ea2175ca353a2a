// u16.cpp - the suite for 16-bit unsigned keys. Values that are doubles.
#include "conformance/conformance.hpp"

ESPALIER_CONFORMANCE(u16_f64, std::uint16_t, double)
