// f64_pair.cpp - the suite for double keys and values of the largest size: the widest element there is.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_CONFORMANCE(blink_f64_pair, double, pair_of_words)
