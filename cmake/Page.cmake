# The target kalstream_page: the live page (page/), packed into one file and compiled in; page/live_page.h gives
# it. uPlot and the packer come from npm when the build is configured. Without npm, or where it cannot fetch them,
# a message says so and the page is left out: everything else works.
option(KALSTREAM_PAGE "Build the live page in, with npm" ON)

set(page_source ${PROJECT_SOURCE_DIR}/page)
set(page_build ${PROJECT_BINARY_DIR}/page)
set(page_modules ${page_build}/node_modules)
set(page_left_out "")

if(KALSTREAM_PAGE)
  find_program(KALSTREAM_NODE node)
  find_program(KALSTREAM_NPM npm)
  mark_as_advanced(KALSTREAM_NODE KALSTREAM_NPM)
  if(NOT KALSTREAM_NODE OR NOT KALSTREAM_NPM)
    set(page_left_out "npm was not found (Debian: apt-get install nodejs npm)")
  else()
    file(SHA256 ${page_source}/package-lock.json page_wanted)
    set(page_fetched "")
    if(EXISTS ${page_build}/fetched)
      file(READ ${page_build}/fetched page_fetched)
    endif()
    if(NOT page_fetched STREQUAL page_wanted)
      file(COPY ${page_source}/package.json ${page_source}/package-lock.json ${page_source}/.npmrc DESTINATION ${page_build})
      execute_process(COMMAND ${KALSTREAM_NPM} ci --ignore-scripts --no-progress WORKING_DIRECTORY ${page_build}
                      RESULT_VARIABLE page_failed OUTPUT_QUIET ERROR_VARIABLE page_error)
      if(page_failed)
        string(REGEX MATCH "npm (ERR!|error) [^\n]*" page_error "${page_error}")
        set(page_left_out "npm could not fetch what it is packed with (${page_error})")
      else()
        file(WRITE ${page_build}/fetched ${page_wanted})
      endif()
    endif()
  endif()
else()
  set(page_left_out "KALSTREAM_PAGE is off")
endif()

if(page_left_out)
  message(NOTICE "The live page is left out: ${page_left_out}. `kalstream serve` works without it.")
  file(CONFIGURE OUTPUT ${page_build}/live_page.cc @ONLY CONTENT
       "#include \"page/live_page.h\"\n\nkalstream::LivePage kalstream::live_page() { return {}; }\n")
else()
  file(GLOB page_files CONFIGURE_DEPENDS ${page_source}/src/*.js)
  add_custom_command(
    OUTPUT ${page_build}/live_page.cc
    COMMAND ${KALSTREAM_NODE} ${page_source}/pack.mjs ${page_build} ${page_modules}
    DEPENDS ${page_files} ${page_source}/pack.mjs ${page_source}/index.html ${page_source}/style.css ${page_build}/fetched
    COMMENT "Packing the live page" VERBATIM)
endif()

add_library(kalstream_page OBJECT ${page_build}/live_page.cc)
kalstream_flags(kalstream_page)
kalstream_cold(kalstream_page)
set_target_properties(kalstream_page PROPERTIES CXX_CLANG_TIDY "") # a list of bytes
target_include_directories(kalstream_page PUBLIC ${PROJECT_SOURCE_DIR})
