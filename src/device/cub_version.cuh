// cub_version.cuh - minimum CUB version for the scans.
#pragma once

#include <cub/version.cuh>

// Older versions of cub::DeviceScan count in `int` (NVIDIA/cccl#2171), and scans of 2^31 elements and more fail
// silently.
static_assert(CUB_VERSION >= 200700,
              "Espalier needs CCCL 2.7 or later, which is in CUDA 12.8 and later and in CUDA 13: scans of older ones "
              "count in 32 bits. Use a newer toolkit, or put a newer CCCL in front of the toolkit's.");
