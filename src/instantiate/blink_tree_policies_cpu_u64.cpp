// blink_tree_policies_cpu_u64.cpp - see blink_tree_policies.ipp.
#define ESPALIER_CONTEXT blink_cpu_context
#define ESPALIER_WORD std::uint64_t
#include "blink_tree/cpu_context.hpp"
#include "instantiate/blink_tree_policies.ipp"
