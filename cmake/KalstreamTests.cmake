# with_tests: whether tests are part of this build, by KALSTREAM_BUILD_TESTS and by what is installed. They are found in
# any build folder that can have them, so that a folder is configured in the same way for every target of the Makefile.
set(with_tests OFF)
if(KALSTREAM_BUILD_TESTS)
  set(need QUIET)
  if(NOT KALSTREAM_BUILD_TESTS STREQUAL AUTO)
    set(need REQUIRED)
  endif()
  find_package(GTest ${need})
  find_package(Eigen3 3.4 ${need} NO_MODULE)
  find_package(nlohmann_json ${need})
  find_package(PkgConfig ${need})
  if(PkgConfig_FOUND)
    pkg_check_modules(matio ${need} IMPORTED_TARGET matio) # writes the MAT files that are read back
    pkg_check_modules(gnutls ${need} IMPORTED_TARGET gnutls) # a client for the server's TLS; comes with libmicrohttpd
  endif()
  if(GTest_FOUND AND TARGET GTest::gmock AND TARGET Eigen3::Eigen AND nlohmann_json_FOUND AND matio_FOUND AND gnutls_FOUND)
    set(with_tests ON)
  else()
    message(STATUS "Without tests: they need GoogleTest with gmock, Eigen, nlohmann-json, libmatio and GnuTLS")
  endif()
endif()
