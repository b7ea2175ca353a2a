# Gives a target the header espalier_commit.hpp, which defines ESPALIER_VERSION and ESPALIER_COMMIT: what a
# benchmark result came from. The commit is looked up at each build, and the header rewritten only when it changed. The
# environment variable ESPALIER_COMMIT wins, for source trees that travel without their history.
#
# This file is both the module (function below) and, run with cmake -P, the step that writes the header.

if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
  set(commit "$ENV{ESPALIER_COMMIT}")
  if(NOT commit)
    execute_process(COMMAND git describe --always --dirty --abbrev=12 WORKING_DIRECTORY "${SOURCE_DIR}"
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(NOT commit)
    set(commit "unknown")
  endif()
  file(CONFIGURE OUTPUT "${HEADER}" @ONLY CONTENT
       "#pragma once\n#define ESPALIER_VERSION \"@VERSION@\"\n#define ESPALIER_COMMIT \"@commit@\"\n")
  return()
endif()

function(espalier_embed_commit target)
  set(folder "${PROJECT_BINARY_DIR}/generated")
  add_custom_target(espalier-commit
                    COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DHEADER=${folder}/espalier_commit.hpp
                            -DVERSION=${PROJECT_VERSION} -P ${PROJECT_SOURCE_DIR}/cmake/commit.cmake
                    BYPRODUCTS ${folder}/espalier_commit.hpp COMMENT "Looking up the commit" VERBATIM)
  add_dependencies(${target} espalier-commit)
  target_include_directories(${target} PRIVATE "${folder}")
endfunction()
