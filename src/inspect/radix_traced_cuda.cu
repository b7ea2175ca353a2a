// radix_traced_cuda.cu - traced calls by threads of a GPU. radix_traced_cpu.cpp is the CPU version.
#include "espalier/device/cuda.cuh"
#include "espalier/team/tile.cuh"
#include "inspect/radix_traced_calls.hpp"
#include "inspect/radix_traced_run.hpp"
#include "radix_tree/cuda_executor.cuh"

namespace espalier::detail {

namespace {

/// One thread per worker.
struct single_thread_launcher {
  template <class Work>
  static void run(const device& dev, const stream& order, unsigned workers, const Work& work) {
    cuda_backend(dev).for_each_team<tile<1>>(order, workers, work);
    order.synchronize();
  }
};

}  // namespace

radix_traced_outcome run_traced_cuda(radix_index& tree, const radix_traced_call& call) {
  return run_traced_on<radix_cuda_executor, single_thread_launcher>(tree, call);
}

}  // namespace espalier::detail
