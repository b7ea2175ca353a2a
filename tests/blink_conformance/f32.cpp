// f32.cpp - the suite for float keys and values of five bytes in a slot of eight.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_CONFORMANCE(blink_f32_bytes5, float, bytes<5>)
