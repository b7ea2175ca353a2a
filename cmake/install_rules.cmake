# What `cmake --install` puts into a prefix: headers, library, CMake package, command line, licence.
include(CMakePackageConfigHelpers)

set(espalier_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/espalier")
install(TARGETS espalier EXPORT espalier_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(ESPALIER_BUILD_CLI)
  if(ESPALIER_BUILD_ENGINE)
    # Arrow's libraries come from a virtual environment or a bundle, which the installed tool must not depend on.
    set(espalier_private_libraries "${CMAKE_INSTALL_LIBDIR}/espalier")
    file(RELATIVE_PATH espalier_libraries_from_tool "/prefix/${CMAKE_INSTALL_BINDIR}" "/prefix/${espalier_private_libraries}")
    set_target_properties(espalier-cli PROPERTIES INSTALL_RPATH "$ORIGIN/${espalier_libraries_from_tool}")
    install(FILES $<TARGET_FILE:espalier::arrow> $<TARGET_FILE:espalier::arrow_compute> $<TARGET_FILE:espalier::parquet>
            DESTINATION ${espalier_private_libraries})
  endif()
  install(TARGETS espalier-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/espalier DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh")
install(EXPORT espalier_targets NAMESPACE espalier:: DESTINATION ${espalier_package_folder})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/espalier)

configure_package_config_file(cmake/espalierConfig.cmake.in "${PROJECT_BINARY_DIR}/espalierConfig.cmake"
                              INSTALL_DESTINATION ${espalier_package_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/espalierConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/espalierConfig.cmake" "${PROJECT_BINARY_DIR}/espalierConfigVersion.cmake"
              cmake/cuda_standard.cmake
        DESTINATION ${espalier_package_folder})
