// small_batch_launch.hpp - launches the kernel of small_batch.hpp, which is compiled in
// src/instantiate/blink_small_batch_cuda_*.cu.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "blink_tree/small_batch.hpp"
#include "espalier/device/device.hpp"

namespace espalier::detail {

/// The kernel sorts batches of up to this size.
inline constexpr std::size_t small_batch_most_sorted = 4096;
inline constexpr unsigned small_batch_most_blocks = 16;
/// Elements per block: with fewer, the additional block costs more than it saves.
inline constexpr unsigned small_batch_each = 512;

/// Enqueues the job. Its result is complete when the stream is.
template <class View>
void launch_small_batch(const device& dev, cudaStream_t order, const small_batch_job<View>& job);

}  // namespace espalier::detail
