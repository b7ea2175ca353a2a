// blink_tree_widths_cpu_u64.cpp - see blink_tree_widths.ipp.
#define ESPALIER_CONTEXT blink_cpu_executor
#define ESPALIER_WORD std::uint64_t
#include "blink_tree/cpu_executor.hpp"
#include "instantiate/blink_tree_widths.ipp"
