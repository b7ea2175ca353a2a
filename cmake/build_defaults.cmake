# How every target of this project is compiled: build type, sanitizers, compiler cache, and two helpers.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# RelWithDebInfo is the type of the sanitizer builds: line tables are enough for them, and assertions stay on.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(ESPALIER_CCACHE ccache)
mark_as_advanced(ESPALIER_CCACHE)
if(ESPALIER_CCACHE AND PROJECT_IS_TOP_LEVEL)
  foreach(language CXX CUDA)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER "${ESPALIER_CCACHE}")
    endif()
  endforeach()
endif()

# LLD, if it is installed, links the tests in a fifth of the time of GNU ld.
find_program(ESPALIER_LLD ld.lld)
mark_as_advanced(ESPALIER_LLD)
if(ESPALIER_LLD AND PROJECT_IS_TOP_LEVEL)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld ESPALIER_CAN_USE_LLD)
  if(ESPALIER_CAN_USE_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

if(ESPALIER_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${ESPALIER_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  # For build time, half of it. Access through null, beyond an object or through a pointer that has wrapped around is
  # AddressSanitizer's to report; checks of virtual tables cost more than the few virtual classes are worth. Its checks
  # are calls instead of code in place, and SIMD is compiled for one target: the release build tests the others.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,object-size,pointer-overflow,vptr>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param asan-instrumentation-with-call-threshold=0>")
  endif()
  add_compile_definitions(HWY_COMPILE_ONLY_STATIC)
  add_link_options(-fsanitize=${ESPALIER_SANITIZE})
endif()

# espalier_sources(<out> <folder>...): every .cpp directly in the folders, and every .cu where CUDA is on.
function(espalier_sources out)
  set(found "")
  foreach(folder IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    file(GLOB cpp CONFIGURE_DEPENDS "${folder}/*.cpp")
    list(APPEND found ${cpp})
    if(ESPALIER_HAS_CUDA)
      file(GLOB cu CONFIGURE_DEPENDS "${folder}/*.cu")
      list(APPEND found ${cu})
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# espalier_private_target(<target>): what our own targets have and users of the library do not see.
function(espalier_private_target target)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
  espalier_warnings(${target})
  if(ESPALIER_HAS_CUDA)
    target_compile_definitions(${target} PRIVATE ESPALIER_HAS_CUDA=1)
    espalier_cuda_options(${target})
  endif()
endfunction()

# espalier_position_independent(<target>): a static library that shared libraries, such as Python's modules, can contain.
function(espalier_position_independent target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # Functions of the library are not meant to be replaced at load time: GCC may inline them as it does without -fPIC.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
endfunction()
