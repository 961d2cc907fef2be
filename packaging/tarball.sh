#!/bin/sh
# tarball.sh OUT: the program in one file that needs nothing of the system, with its manual pages and completions, as
# OUT/kalstream-VERSION-linux-x86_64.tar.gz. Libraries are those of libraries.sh; the libc is this system's.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1" build/static
out=$(realpath "$1")
work=$PWD/build/static
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || echo 0)}"

packaging/libraries.sh build/sources "$work/libraries"
PKG_CONFIG_LIBDIR="$work/libraries/lib/pkgconfig" cmake -S . -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$work/libraries" -DCMAKE_EXE_LINKER_FLAGS='-static -s' -DKALSTREAM_BUILD_TESTS=OFF \
  -DKALSTREAM_BUILD_SHARED=OFF -DKALSTREAM_KAFKA=ON -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$PWD=." >/dev/null
cmake --build "$work/build" -j "$(nproc)" --target kalstream_cli

version=$("$work/build/kalstream" --version | sed -n 's/^kalstream //p')
name=kalstream-$version-linux-$(uname -m)
rm -rf "${work:?}/$name"
mkdir -p "$work/$name/bin" "$work/$name/licenses"
cp "$work/build/kalstream" "$work/$name/bin/"
cp LICENSE "$work/$name/licenses/kalstream"
cp "$work/libraries/licenses/"* "$work/$name/licenses/"
tools/program-files.py "$work/build/kalstream" "$work/$name/share"
tar -c --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+w --mtime="@$SOURCE_DATE_EPOCH" -C "$work" "$name" |
  gzip -9n >"$out/$name.tar.gz"
echo "$out/$name.tar.gz"
