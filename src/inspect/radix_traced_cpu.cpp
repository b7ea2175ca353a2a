// radix_traced_cpu.cpp - traced calls by threads of a CPU. radix_traced_cuda.cu is the GPU version.
#include "inspect/radix_traced_calls.hpp"
#include "inspect/radix_traced_run.hpp"
#include "inspect/team_threads.hpp"
#include "radix_tree/cpu_executor.hpp"

namespace espalier::detail {

radix_traced_outcome run_traced_cpu(radix_index& tree, const radix_traced_call& call) {
  return run_traced_on<radix_cpu_executor, thread_launcher>(tree, call);
}

}  // namespace espalier::detail
