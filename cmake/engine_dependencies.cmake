# What the query engine needs beyond the library: Arrow, PostgreSQL's parser, xxHash; for its shell, a line editor.
include(arrow)

# espalier_plain_library(<target> <header> <package> [<library>]): for libraries without a CMake package. Without a
# library name the header is all there is to it.
function(espalier_plain_library target header package)
  string(MAKE_C_IDENTIFIER "ESPALIER_${package}" name)
  find_path(${name}_INCLUDE ${header})
  mark_as_advanced(${name}_INCLUDE)
  set(complete TRUE)
  if(NOT ${name}_INCLUDE)
    set(complete FALSE)
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  if(ARGN)
    find_library(${name}_LIBRARY ${ARGN})
    mark_as_advanced(${name}_LIBRARY)
    if(NOT ${name}_LIBRARY)
      set(complete FALSE)
    else()
      target_link_libraries(${target} INTERFACE "${${name}_LIBRARY}")
    endif()
  endif()
  if(NOT complete)
    message(FATAL_ERROR "The query engine needs ${header} of Debian's ${package}: run scripts/setup, or build all but the "
                        "engine with -DESPALIER_BUILD_ENGINE=OFF.")
  endif()
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${${name}_INCLUDE}")
endfunction()

if(ESPALIER_DEPS)
  file(GLOB espalier_library_folders "${ESPALIER_DEPS}/lib/*-linux-gnu")
  list(PREPEND CMAKE_LIBRARY_PATH ${espalier_library_folders})
endif()
espalier_plain_library(espalier::pg_query pg_query.h libpg-query-dev pg_query)
espalier_plain_library(espalier::xxhash xxhash.h libxxhash-dev)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)

# History and editing in `espalier sql`; without it the shell reads plain lines.
find_path(ESPALIER_EDITLINE_INCLUDE editline/readline.h)
find_library(ESPALIER_EDITLINE_LIBRARY edit)
mark_as_advanced(ESPALIER_EDITLINE_INCLUDE ESPALIER_EDITLINE_LIBRARY)
if(ESPALIER_EDITLINE_INCLUDE AND ESPALIER_EDITLINE_LIBRARY)
  add_library(espalier::editline INTERFACE IMPORTED GLOBAL)
  set_target_properties(espalier::editline PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${ESPALIER_EDITLINE_INCLUDE}"
                                                      INTERFACE_COMPILE_DEFINITIONS ESPALIER_HAS_EDITLINE=1)
  target_link_libraries(espalier::editline INTERFACE "${ESPALIER_EDITLINE_LIBRARY}")
endif()
