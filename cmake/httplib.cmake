# cpp-httplib, which has no CMake package in Debian 12: the imported target espalier_httplib.
#
# Debian and Ubuntu compile it into a shared library with TLS and compression, and its classes have other members without
# them: whoever includes the header has to say the same. Where there is only a header, it is taken as it is.
find_path(ESPALIER_HTTPLIB_INCLUDE httplib.h)
find_library(ESPALIER_HTTPLIB_LIBRARY cpp-httplib)
mark_as_advanced(ESPALIER_HTTPLIB_INCLUDE ESPALIER_HTTPLIB_LIBRARY)
if(NOT ESPALIER_HTTPLIB_INCLUDE)
  message(FATAL_ERROR "httplib.h is missing: install libcpp-httplib-dev (scripts/setup does).")
endif()
add_library(espalier_httplib INTERFACE)
target_include_directories(espalier_httplib SYSTEM INTERFACE "${ESPALIER_HTTPLIB_INCLUDE}")
# OpenSSL has headers per architecture; compilers look for those of the system by themselves, not for a bundle's.
if(ESPALIER_DEPS)
  file(GLOB espalier_httplib_architecture "${ESPALIER_DEPS}/include/*-linux-gnu")
  target_include_directories(espalier_httplib SYSTEM INTERFACE ${espalier_httplib_architecture})
endif()
target_link_libraries(espalier_httplib INTERFACE Threads::Threads)
if(ESPALIER_HTTPLIB_LIBRARY)
  target_link_libraries(espalier_httplib INTERFACE "${ESPALIER_HTTPLIB_LIBRARY}")
  target_compile_definitions(espalier_httplib INTERFACE CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT
                                                        CPPHTTPLIB_BROTLI_SUPPORT)
endif()
