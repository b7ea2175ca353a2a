// radix_tree_cpu.cpp - see radix_tree.ipp.
#define ESPALIER_CONTEXT radix_cpu_context
#include "radix_tree/cpu_context.hpp"
#include "instantiate/radix_tree.ipp"
