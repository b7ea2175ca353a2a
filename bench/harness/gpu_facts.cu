// gpu_facts.cu - properties of the GPUs of this machine.
#include <cuda_runtime.h>

#include <cstddef>

#include "bench/harness/machine.hpp"
#include "bench/harness/timing.hpp"
#include "espalier/device/cuda.cuh"

namespace espalier::bench {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Allocates directly from the GPU, so that the library's own pool is unaffected.
class plain_memory {
 public:
  explicit plain_memory(std::size_t bytes) {
    espalier::detail::check_cuda(cudaMalloc(&p_, bytes), "cudaMalloc", bytes);
  }
  ~plain_memory() { (void)cudaFree(p_); }
  plain_memory(const plain_memory&) = delete;
  plain_memory& operator=(const plain_memory&) = delete;
  [[nodiscard]] void* data() const { return p_; }

 private:
  void* p_ = nullptr;
};

}  // namespace

double gpu_copy_bandwidth(int ordinal) {
  using espalier::detail::check_cuda;
  const espalier::detail::device_guard guard(ordinal);
  constexpr std::size_t bytes = std::size_t{1} << 30;
  const plain_memory from(bytes), to(bytes);
  check_cuda(cudaMemset(from.data(), 1, bytes), "cudaMemset");
  const auto copy = [&](std::size_t times) {
    for (std::size_t i = 0; i < times; ++i)
      check_cuda(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, nullptr), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  };
  copy(1);
  return 2.0 * static_cast<double>(bytes) / median_seconds(5, copy);
}

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
