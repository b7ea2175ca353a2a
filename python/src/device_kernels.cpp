// device_kernels.cpp - the steps of device_kernels.hpp in a build without CUDA.
#ifndef ESPALIER_PYTHON_HAS_CUDA
#include "device_kernels.ipp"
#include "device_pointer.hpp"

namespace espalier::python {

bool has_cuda() { return false; }
int gpu_of(std::uintptr_t) { return -1; }

}  // namespace espalier::python
#endif
