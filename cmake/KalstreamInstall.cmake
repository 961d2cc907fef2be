# What `cmake --install` leaves: the library for C++, an archive, and the one for C, which is shared; their headers, and
# files by which CMake (find_package(kalstream)) and pkg-config (kalstream, kalstream-c) find them.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kalstream)
install(TARGETS kalstream EXPORT kalstreamTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET kalstream_c)
  install(TARGETS kalstream_c EXPORT kalstreamTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT c)
endif()
install(DIRECTORY include/kalstream DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} PATTERN kalstream.h EXCLUDE)
install(FILES include/kalstream/kalstream.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kalstream COMPONENT c)
install(EXPORT kalstreamTargets NAMESPACE kalstream:: DESTINATION ${package_dir})

configure_package_config_file(cmake/kalstreamConfig.cmake.in kalstreamConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(kalstreamConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# Relative, so that the tree may be installed under any --prefix and moved.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/kalstream.pc.in kalstream.pc @ONLY)
configure_file(cmake/kalstream-c.pc.in kalstream-c.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kalstreamConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/kalstreamConfigVersion.cmake DESTINATION ${package_dir})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kalstream.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET kalstream_c)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kalstream-c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT c)
endif()
