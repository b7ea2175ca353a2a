# What `cmake --install` puts into a prefix: headers, libraries, CMake package, command line, licence. The component
# `library` (--component library) is the part that programs in C++ and the Python package need, `engine` is the query engine.
include(CMakePackageConfigHelpers)

set(espalier_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/espalier")
install(TARGETS espalier EXPORT espalier_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(EXPORT espalier_targets NAMESPACE espalier:: DESTINATION ${espalier_package_folder} COMPONENT library)
install(DIRECTORY include/espalier DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh" PATTERN "engine" EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/espalier COMPONENT library)

# Arrow comes from a virtual environment or a bundle, which an installation must not depend on: the engine, and the tool
# with it, bring their own.
set(espalier_private_folder "${CMAKE_INSTALL_LIBDIR}/espalier")
if(ESPALIER_BUILD_ENGINE)
  foreach(library arrow arrow_compute parquet)
    install(FILES $<TARGET_FILE:espalier::${library}> DESTINATION ${espalier_private_folder} COMPONENT engine)
    get_target_property(path espalier::${library} IMPORTED_LOCATION)
    cmake_path(GET path FILENAME espalier_${library}_file)  # for espalierEngine.cmake
  endforeach()
  install(DIRECTORY "${espalier_arrow_folder}/include/" DESTINATION ${espalier_private_folder}/include COMPONENT engine
          FILES_MATCHING PATTERN "*.h" PATTERN "python" EXCLUDE PATTERN "testing" EXCLUDE)
  install(DIRECTORY include/espalier/engine DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/espalier COMPONENT engine
          FILES_MATCHING PATTERN "*.hpp")
  set_target_properties(espalier-engine PROPERTIES EXPORT_NAME engine)
  install(TARGETS espalier-engine EXPORT espalier_engine_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT engine)
  install(EXPORT espalier_engine_targets NAMESPACE espalier:: DESTINATION ${espalier_package_folder} COMPONENT engine)
  configure_package_config_file(cmake/espalierEngine.cmake.in "${PROJECT_BINARY_DIR}/espalierEngine.cmake"
                                INSTALL_DESTINATION ${espalier_package_folder} PATH_VARS espalier_private_folder
                                NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  install(FILES "${PROJECT_BINARY_DIR}/espalierEngine.cmake" DESTINATION ${espalier_package_folder} COMPONENT engine)
endif()
if(ESPALIER_BUILD_CLI)
  if(ESPALIER_BUILD_ENGINE)
    file(RELATIVE_PATH espalier_libraries_from_tool "/prefix/${CMAKE_INSTALL_BINDIR}" "/prefix/${espalier_private_folder}")
    set_target_properties(espalier-cli PROPERTIES INSTALL_RPATH "$ORIGIN/${espalier_libraries_from_tool}")
  endif()
  install(TARGETS espalier-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

configure_package_config_file(cmake/espalierConfig.cmake.in "${PROJECT_BINARY_DIR}/espalierConfig.cmake"
                              INSTALL_DESTINATION ${espalier_package_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/espalierConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/espalierConfig.cmake" "${PROJECT_BINARY_DIR}/espalierConfigVersion.cmake"
              cmake/cuda_standard.cmake
        DESTINATION ${espalier_package_folder} COMPONENT library)
