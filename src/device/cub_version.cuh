// cub_version.cuh - which CUB the scans need.
#pragma once

#include <cub/version.cuh>

// Before, cub::DeviceScan counted in `int` (NVIDIA/cccl#2171), and scans of 2^31 elements and more went wrong silently.
static_assert(CUB_VERSION >= 200700,
              "Espalier needs CCCL 2.7 or later, which is in CUDA 12.8 and later and in CUDA 13: scans of older ones "
              "count in 32 bits. Use a newer toolkit, or put a newer CCCL in front of the toolkit's.");
