# kalstream_flags(target): how every translation unit of this project is compiled.
#
# -ffp-contract=off: a multiplication and an addition become one instruction only where the code
# says so; otherwise a seed would not mean the same start on every compiler.
# -Wno-missing-field-initializers: designated initialisers leave out what keeps its default.
# -fopenmp-simd: honours "#pragma omp simd" in the kernels; no OpenMP runtime is linked.
function(kalstream_flags target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include
                                               ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                         -Wno-sign-conversion -Wno-missing-field-initializers -Wnon-virtual-dtor -ffp-contract=off -fopenmp-simd)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict) # false alarms on std::string, GCC PR 105651
  endif()
  if(KALSTREAM_SANITIZED) # what the sanitizers add makes GCC see what is not there
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
  endif()
  if(KALSTREAM_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# kalstream_module(name DEPENDS modules… SOURCES files…): one folder of src/. The link lines are
# the dependency graph: a module may only include headers of what it names here, and of what that
# links in turn. tools/check-rooms.py, one of the tests, holds every file to it.
function(kalstream_module name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;SOURCES" ${ARGN})
  add_library(kalstream_${name} OBJECT ${ARG_SOURCES})
  kalstream_flags(kalstream_${name})
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(kalstream_${name} PUBLIC kalstream_${dependency})
  endforeach()
endfunction()

# kalstream_cold(target): code that runs once or only in tests is compiled for a short build.
function(kalstream_cold target)
  target_compile_options(${target} PRIVATE $<IF:$<BOOL:${KALSTREAM_SANITIZED}>,-O0,-O1>)
endfunction()

# kalstream_not_sanitized(target): what the sanitizers look at is the library and the rooms of the program; tests and
# the thin command line would take as long to compile again.
function(kalstream_not_sanitized target)
  if(KALSTREAM_SANITIZED)
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
  endif()
endfunction()

# kalstream_at_once(target): all files of the target are compiled as one, since headers take longer than
# what the files themselves have in them. Not in a Debug build, where one works on single files, nor for
# clang-tidy, which looks at each.
function(kalstream_at_once target)
  if(NOT CMAKE_CXX_CLANG_TIDY AND NOT CMAKE_BUILD_TYPE STREQUAL Debug)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0
                                               DISABLE_PRECOMPILE_HEADERS ON)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU) # takes a file that is included for a header
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
  endif()
endfunction()
