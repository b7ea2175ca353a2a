// radix_tree_cpu.cpp - see radix_tree.ipp.
#define ESPALIER_CONTEXT radix_cpu_executor
#include "instantiate/radix_tree.ipp"
#include "radix_tree/cpu_executor.hpp"
