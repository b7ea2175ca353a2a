# Finds nvcc (PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda) and decides ESPALIER_HAS_CUDA.
# The GPU side is compiled wherever a toolkit is found; a GPU is needed only to run it.
#
# CHECK is for machines that have no GPU: library, command line and examples show that the compiler accepts them, in less
# than half the time; the GPU's own tests (tests/*/*.cu), which would all skip, are left out.
# Nothing of such a build is to be measured or shipped.

set(ESPALIER_HAS_CUDA OFF)
if(NOT ESPALIER_CUDA MATCHES "^(AUTO|ON|OFF|CHECK)$")
  message(FATAL_ERROR "ESPALIER_CUDA is '${ESPALIER_CUDA}': use AUTO, ON, OFF or CHECK.")
endif()

if(NOT ESPALIER_CUDA STREQUAL "OFF")
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(ESPALIER_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin" PATHS /usr/local/cuda/bin)
    mark_as_advanced(ESPALIER_NVCC)
    if(ESPALIER_NVCC)
      set(CMAKE_CUDA_COMPILER "${ESPALIER_NVCC}")
    endif()
  endif()
  if(NOT DEFINED CMAKE_CUDA_HOST_COMPILER AND NOT DEFINED ENV{CUDAHOSTCXX})
    set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
  endif()
  # Machine code for A100- and Hopper-class cards, and PTX that newer ones compile at load time.
  if(ESPALIER_CUDA STREQUAL "CHECK")
    set(CMAKE_CUDA_ARCHITECTURES 90-virtual)
  elseif(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    include(cuda_standard)
    find_package(CUDAToolkit REQUIRED)
    set(ESPALIER_HAS_CUDA ON)
    if(ESPALIER_CUDA STREQUAL "CHECK")
      set(CMAKE_CUDA_FLAGS_RELEASE "-O0 -DNDEBUG")  # at -O1, g++ 12 sees uninitialized members in CUB
    endif()
  elseif(NOT ESPALIER_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "ESPALIER_CUDA is ${ESPALIER_CUDA} but there is no working nvcc: put it on PATH, "
                        "set CUDA_HOME, or configure with -DESPALIER_CUDA=OFF.")
  endif()
endif()

if(ESPALIER_HAS_CUDA)
  message(STATUS "Espalier: GPU side on (CUDA ${CUDAToolkit_VERSION}, ${CMAKE_CUDA_ARCHITECTURES})")
else()
  message(STATUS "Espalier: GPU side off, CPU only")
endif()

function(espalier_cuda_options target)
  set(flags --extended-lambda --expt-relaxed-constexpr -Xcudafe=--display_error_number)
  if(ESPALIER_CUDA STREQUAL "CHECK" AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
    list(APPEND flags -fdevice-syntax-only)
  elseif(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.4)
    # What is shipped carries code for several cards; a driver unpacks the code of its own card when it loads it.
    list(APPEND flags "$<$<CONFIG:Release>:--compress-mode=size>")
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${flags}>")
  # No device code is linked across files, so the host linker does the whole job.
  set_target_properties(${target} PROPERTIES CUDA_STANDARD 20 CUDA_EXTENSIONS OFF CUDA_SEPARABLE_COMPILATION OFF
                                             CUDA_RUNTIME_LIBRARY Static LINKER_LANGUAGE CXX)
endfunction()

# espalier_one_cuda_file(<list> NAME <name> REGEX <regex>): replaces the .cu files of a list that match by one that
# includes them. CMake's unity builds leave CUDA out before 3.31, and nvcc takes most of its time for shared headers.
function(espalier_one_cuda_file list)
  cmake_parse_arguments(PARSE_ARGV 1 one "" "NAME;REGEX" "")
  set(joined ${${list}})
  list(FILTER joined INCLUDE REGEX "${one_REGEX}")
  list(TRANSFORM joined REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE includes)
  string(CONCAT includes ${includes})
  set(all "${CMAKE_CURRENT_BINARY_DIR}/generated/${one_NAME}_cuda_files.cu")
  file(CONFIGURE OUTPUT "${all}" CONTENT "${includes}" @ONLY)
  set(rest ${${list}})
  list(FILTER rest EXCLUDE REGEX "${one_REGEX}")
  set(${list} ${rest} "${all}" PARENT_SCOPE)
endfunction()
