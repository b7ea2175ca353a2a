// fold_cuda.cu - the scan of fold.hpp on a GPU, with CUB.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <cub/device/device_scan.cuh>

#include "blink_tree/fold.hpp"
#include "device/cub_version.cuh"
#include "espalier/device/buffer.hpp"
#include "espalier/device/cuda.cuh"

namespace espalier::detail {

template <class Word>
void fold_on_gpu(const device& dev, const stream& order, const batch_runs<Word>& batch, folded* out) {
  if (batch.n == 0) return;
  const device_guard guard(dev.ordinal());
  const auto elements = thrust::make_transform_iterator(thrust::counting_iterator<std::size_t>(0), batch);
  const char* const call = "cub::DeviceScan::InclusiveScan";
  const auto native = cuda_backend::native(order);
  std::size_t bytes = 0;
  check_cuda(cub::DeviceScan::InclusiveScan(nullptr, bytes, elements, out, fold_both{}, batch.n, native), call);
  const raw_buffer scratch(dev, std::max<std::size_t>(bytes, 1), order);
  check_cuda(cub::DeviceScan::InclusiveScan(scratch.data(), bytes, elements, out, fold_both{}, batch.n, native), call);
}

template void fold_on_gpu(const device&, const stream&, const batch_runs<std::uint32_t>&, folded*);
template void fold_on_gpu(const device&, const stream&, const batch_runs<std::uint64_t>&, folded*);

}  // namespace espalier::detail
