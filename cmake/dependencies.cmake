# Finds the libraries of docs/dependencies.md by their own CMake packages.
# ESPALIER_DEPS, a folder with Debian's layout made by scripts/bundle-deps, goes in front of the system.

if(ESPALIER_DEPS)
  if(NOT IS_DIRECTORY "${ESPALIER_DEPS}/include")
    message(FATAL_ERROR "ESPALIER_DEPS is '${ESPALIER_DEPS}', which is not a folder made by scripts/bundle-deps.")
  endif()
  # A host that is not Debian's child does not look into lib/<triplet>: name that folder too.
  file(GLOB espalier_package_folders "${ESPALIER_DEPS}/lib/*-linux-gnu/cmake")
  list(PREPEND CMAKE_PREFIX_PATH "${ESPALIER_DEPS}" ${espalier_package_folders})
  # Shared libraries of the bundle need each other, and only DT_RPATH (not DT_RUNPATH) holds for those too.
  add_link_options(-Wl,--disable-new-dtags)
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()

set(CMAKE_FIND_PACKAGE_PREFER_CONFIG ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(hwy REQUIRED)
find_package(TBB REQUIRED)
if(ESPALIER_BUILD_CLI)
  find_package(fmt REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
  find_package(absl REQUIRED)
endif()
if(ESPALIER_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  find_package(nlohmann_json REQUIRED)
  if(ESPALIER_BUILD_CLI)
    include(httplib)  # a client for the tests of the explorer's server
  endif()
endif()
