# ctest's install_consumer: install BUILD_DIR into a fresh prefix, then configure, build and run the consumers there;
# that of the GPU side where CUDA_ROOT, the folder of nvcc, is not empty, that of the query engine where ENGINE is true.
set(work "${BUILD_DIR}/install_consumer")
file(REMOVE_RECURSE "${work}")

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(ENV{PATH} "$ENV{PATH}:${CUDA_ROOT}")  # where CMake looks for a toolkit and for nvcc
set(ENV{CUDAHOSTCXX} "${CXX}")
set(ENV{CMAKE_PREFIX_PATH} "${work}/prefix:${PREFIXES}")
step(${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${work}/prefix")
step(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}" -B "${work}/build" -G "${GENERATOR}"
     -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=${CXX}")
step(${CMAKE_COMMAND} --build "${work}/build")
step("${work}/build/consumer")
if(ENGINE)
  step("${work}/build/sql_consumer")
endif()
if(CUDA_ROOT)
  step("${work}/build/gpu_consumer")
endif()
if(PYTHON)
  # The first page of the documentation, whose command names no folders of bundled dependencies.
  string(REPLACE ":" ";" prefixes "${PREFIXES}")
  foreach(prefix IN LISTS prefixes)
    file(GLOB libraries "${prefix}/lib" "${prefix}/lib/*-linux-gnu")
    list(JOIN libraries ":" libraries)
    set(ENV{CPATH} "$ENV{CPATH}:${prefix}/include")
    set(ENV{LIBRARY_PATH} "$ENV{LIBRARY_PATH}:${libraries}")
    set(ENV{LD_LIBRARY_PATH} "$ENV{LD_LIBRARY_PATH}:${libraries}")
  endforeach()
  step("${PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/../docs/blocks.py" link "${work}/prefix" ${CUDA_ROOT})
endif()
