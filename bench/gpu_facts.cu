// gpu_facts.cu - the GPUs of this machine.
#include <cuda_runtime.h>

#include "bench/machine.hpp"

namespace espalier::bench {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

void describe_gpus(machine& into) {
  int version = 0;
  if (cudaRuntimeGetVersion(&version) == cudaSuccess) into.cuda_runtime = version_text(version);
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    into.no_gpu = status != cudaSuccess ? cudaGetErrorString(status) : "no CUDA-capable device is visible";
    return;
  }
  if (cudaDriverGetVersion(&version) == cudaSuccess) into.driver = version_text(version);
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p{};
    if (cudaGetDeviceProperties(&p, i) != cudaSuccess) continue;
    into.gpus.push_back({p.name, p.totalGlobalMem, p.multiProcessorCount, static_cast<std::size_t>(p.l2CacheSize),
                         std::to_string(p.major) + "." + std::to_string(p.minor)});
  }
}

}  // namespace espalier::bench
