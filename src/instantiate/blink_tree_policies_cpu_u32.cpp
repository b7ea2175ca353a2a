// blink_tree_policies_cpu_u32.cpp - see blink_tree_policies.ipp.
#define ESPALIER_CONTEXT blink_cpu_executor
#define ESPALIER_WORD std::uint32_t
#include "blink_tree/cpu_executor.hpp"
#include "instantiate/blink_tree_policies.ipp"
