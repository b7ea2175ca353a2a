// version.hpp - the version of the library. CMake reads it from here.
#pragma once

#define ESPALIER_VERSION_MAJOR 0
#define ESPALIER_VERSION_MINOR 1
#define ESPALIER_VERSION_PATCH 0
/// For comparisons: 0.1.0 is 100.
#define ESPALIER_VERSION_NUMBER \
  (ESPALIER_VERSION_MAJOR * 10000 + ESPALIER_VERSION_MINOR * 100 + ESPALIER_VERSION_PATCH)
