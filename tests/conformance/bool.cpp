// bool.cpp - the suite for bool keys. Two keys only: every tree is two runs of equal keys.
#include "conformance/conformance.hpp"

ESPALIER_CONFORMANCE(bool_u16, bool, std::uint16_t)
