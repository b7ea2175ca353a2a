# Arrow C++ for the query engine: headers and shared libraries of the `pyarrow` wheel, the one way to have the same
# Arrow on every distribution. Looked for, in this order, in ESPALIER_ARROW_ROOT, in the bundle of ESPALIER_DEPS, in the
# project's .venv (scripts/setup makes it), and where this machine's python3 imports it from.
#
# The wheel's libraries carry versioned names only (libarrow.so.2500), so they are imported by full path.
set(ESPALIER_ARROW_ROOT "" CACHE PATH "Folder with Arrow's include/ and lib*.so.<version>, as in the pyarrow wheel")

# espalier_is_arrow(<out> <folder>): does it hold all that the engine links?
function(espalier_is_arrow out folder)
  set(${out} FALSE PARENT_SCOPE)
  if(folder AND EXISTS "${folder}/include/arrow/api.h")
    file(GLOB arrow "${folder}/libarrow.so.*")
    file(GLOB parquet "${folder}/libparquet.so.*")
    file(GLOB compute "${folder}/libarrow_compute.so.*")
    if(arrow AND parquet AND compute)
      set(${out} TRUE PARENT_SCOPE)
    endif()
  endif()
endfunction()

# espalier_unpack_arrow(<out>): the bundle's archive, unpacked once for each build folder and version of it.
function(espalier_unpack_arrow out)
  set(archive "${ESPALIER_DEPS}/arrow.tar.xz")
  set(${out} "" PARENT_SCOPE)
  if(ESPALIER_DEPS AND EXISTS "${archive}")
    set(folder "${PROJECT_BINARY_DIR}/arrow")
    if("${archive}" IS_NEWER_THAN "${folder}/unpacked")
      message(STATUS "Unpacking ${archive}")
      file(REMOVE_RECURSE "${folder}")
      file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${folder}")
      file(TOUCH "${folder}/unpacked")
    endif()
    set(${out} "${folder}" PARENT_SCOPE)
  endif()
endfunction()

# espalier_python_arrow(<out>): the folder of the module that this machine's python3 imports, or nothing.
function(espalier_python_arrow out)
  set(${out} "" PARENT_SCOPE)
  find_program(ESPALIER_PYTHON python3)
  mark_as_advanced(ESPALIER_PYTHON)
  if(ESPALIER_PYTHON)
    execute_process(
      COMMAND "${ESPALIER_PYTHON}" -c "import importlib.util as u, os; print(os.path.dirname(u.find_spec('pyarrow').origin))"
      OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    set(${out} "${folder}" PARENT_SCOPE)
  endif()
endfunction()

function(espalier_find_arrow out)
  espalier_unpack_arrow(bundled)
  file(GLOB of_project "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/pyarrow")
  foreach(folder "${ESPALIER_ARROW_ROOT}" "${bundled}" ${of_project})
    espalier_is_arrow(usable "${folder}")
    if(usable)
      set(${out} "${folder}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  espalier_python_arrow(folder)
  espalier_is_arrow(usable "${folder}")
  if(NOT usable)
    message(FATAL_ERROR
      "The query engine needs Arrow C++ from the Python package pyarrow, which is neither in .venv nor known to python3: "
      "run scripts/setup, or name its folder with -DESPALIER_ARROW_ROOT=DIR, or build all but the engine with "
      "-DESPALIER_BUILD_ENGINE=OFF.")
  endif()
  set(${out} "${folder}" PARENT_SCOPE)
endfunction()

# espalier_import_arrow(<target> <library> <folder>)
function(espalier_import_arrow target library folder)
  file(GLOB found "${folder}/${library}.so.*")
  list(SORT found COMPARE NATURAL)
  list(GET found 0 path)  # libx.so.2500 before libx.so.2500.1.0: the former is what others name
  cmake_path(GET path FILENAME soname)
  add_library(${target} SHARED IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${path}" IMPORTED_SONAME "${soname}"
                                             INTERFACE_INCLUDE_DIRECTORIES "${folder}/include"
                                             INTERFACE_COMPILE_FEATURES cxx_std_20)
endfunction()

espalier_find_arrow(espalier_arrow_folder)
message(STATUS "Arrow C++: ${espalier_arrow_folder}")
espalier_import_arrow(espalier::arrow libarrow "${espalier_arrow_folder}")
espalier_import_arrow(espalier::arrow_compute libarrow_compute "${espalier_arrow_folder}")
espalier_import_arrow(espalier::parquet libparquet "${espalier_arrow_folder}")
target_link_libraries(espalier::arrow_compute INTERFACE espalier::arrow)
target_link_libraries(espalier::parquet INTERFACE espalier::arrow)
