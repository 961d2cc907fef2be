#!/bin/sh
# example_project.sh BUILD_DIR SOURCE_DIR: installs kalstream into an empty place and builds the
# examples against it, in C++ and in C, each once found by CMake and once by pkg-config. All print
# the same digits.
set -eu
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$source/examples/live_stream" -B "$work/example" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/example" >/dev/null
"$work/example/live_stream" | tee "$work/by_cmake"
grep -q "after 4000 samples" "$work/by_cmake"

# Records in, answers out: as the program does it.
"$work/prefix/bin/kalstream" generate friedman --rows 50 >"$work/rows.csv"
"$work/example/records" '{"learner":"rls","interval":0.9}' <"$work/rows.csv" >"$work/answers"
"$work/prefix/bin/kalstream" stream --learner rls --interval 0.9 <"$work/rows.csv" 2>/dev/null | cmp - "$work/answers"

PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name kalstream.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046,SC2086 # lists of words
${CXX:-c++} -std=c++20 -O2 "$source/examples/live_stream/live_stream.cc" \
  $(pkg-config --cflags --libs kalstream) -o "$work/by_pkg_config"
"$work/by_pkg_config" | cmp - "$work/by_cmake"

cmake -S "$source/examples/c" -B "$work/example_c" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/example_c" >/dev/null
"$work/example_c/live_stream" | cmp - "$work/by_cmake"
# shellcheck disable=SC2046 # lists of words
${CC:-cc} -std=c99 -O2 "$source/examples/c/live_stream.c" $(pkg-config --cflags --libs kalstream-c) -lm \
  -o "$work/c_by_pkg_config"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir kalstream-c) "$work/c_by_pkg_config" | cmp - "$work/by_cmake"
"$work/prefix/bin/kalstream" --version
