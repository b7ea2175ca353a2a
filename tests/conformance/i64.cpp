// i64.cpp - the suite for 64-bit signed keys. Values of the largest size, and of a size below it.
#include "conformance/conformance.hpp"

ESPALIER_CONFORMANCE(i64_pair, std::int64_t, pair_of_words)
ESPALIER_CONFORMANCE(i64_bytes11, std::int64_t, bytes<11>)
