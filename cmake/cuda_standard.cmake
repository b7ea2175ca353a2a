# CMake 3.25 does not know that nvcc has C++20, and refuses .cu files in any target that asks for cxx_std_20.
# Part of the installed package too, since Espalier's headers make that demand of a user's own kernels: there it also
# holds for a project that enables CUDA only after find_package.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION
   AND (NOT CMAKE_CUDA_COMPILER_ID
        OR (CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA" AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12)))
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
