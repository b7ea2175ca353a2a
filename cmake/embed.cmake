# espalier_embed(<target> <folder> <header> <namespace>): the files of a folder as bytes in the program, so that it needs no
# files when it runs and no path from outside reaches any. Generates a source file with their names and contents: what
# assets() of the header returns (src/explorer/http/assets.hpp).
function(espalier_embed target folder header namespace)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*")
  list(FILTER files EXCLUDE REGEX "/(test|tests|node_modules|__pycache__)/|\\.md$|/\\.")
  list(SORT files)
  set(made "${CMAKE_CURRENT_BINARY_DIR}/generated/${target}-assets.cpp")
  add_custom_command(
    OUTPUT "${made}"
    COMMAND ${CMAKE_COMMAND} "-DFOLDER=${PROJECT_SOURCE_DIR}/${folder}" "-DFILES=${files}" "-DOUT=${made}"
            "-DHEADER=${header}" "-DNAMESPACE=${namespace}" -P "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
    DEPENDS ${files} "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
    COMMENT "Embedding ${folder}/"
    VERBATIM)
  target_sources(${target} PRIVATE "${made}")
endfunction()
