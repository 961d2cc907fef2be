#!/bin/sh
# libraries.sh SOURCES PREFIX [HOST]: the libraries that the program uses, as archives under PREFIX, so that it needs
# none of the system; compiled by $CC, $CXX, $AR and $RANLIB, for HOST (aarch64-linux-gnu) if it is another machine.
# SOURCES keeps what is fetched (sources.txt). HTTP without TLS and Kafka without TLS and SASL: these would bring a
# library for cryptography, which should be the system's, that is kept up to date.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" "$2"
sources=$(realpath "$1")
prefix=$(realpath "$2")
host=${3:-}
jobs=$(nproc)
: "${CC:=cc}" "${CXX:=c++}" "${AR:=ar}" "${RANLIB:=ranlib}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CC CXX AR RANLIB CFLAGS="-O2 -fPIC -DNDEBUG -ffile-prefix-map=$work=libraries"
cat "$0" "$here/sources.txt" >"$work/recipe"
if ! cmp -s "$prefix/recipe" "$work/recipe"; then # made by other versions of these files
  rm -rf "${prefix:?}"/*
  cp "$work/recipe" "$prefix/recipe"
fi
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/licenses"
log=$prefix/log

quietly() { "$@" >>"$log" 2>&1 || { tail -20 "$log"; echo "libraries.sh: $1 failed; $log has all it said"; exit 1; }; }

by_cmake() { # by_cmake OPTION…: configures the folder one is in, under build/
  quietly cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_AR="$(command -v "$AR")" -DCMAKE_RANLIB="$(command -v "$RANLIB")" \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
    ${host:+-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="${host%%-*}"} "$@"
}

make_library() { # make_library NAME, in the folder of its sources
  case $1 in
  zlib)
    quietly ./configure --static --prefix="$prefix"
    quietly make -j "$jobs" libz.a
    cp libz.a "$prefix/lib/"
    cp zlib.h zconf.h "$prefix/include/"
    ;;
  sqlite3) # its generator runs on this machine; what it makes is C for any
    quietly env CC=cc AR=ar RANLIB=ranlib ./configure --disable-tcl --disable-readline
    quietly make sqlite3.c sqlite3.h
    # shellcheck disable=SC2086 # a list of words
    quietly "$CC" $CFLAGS -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_THREADSAFE=1 -c sqlite3.c -o sqlite3.o
    quietly "$AR" rcs "$prefix/lib/libsqlite3.a" sqlite3.o
    cp sqlite3.h "$prefix/include/"
    ;;
  libmicrohttpd)
    quietly ./configure ${host:+--host="$host"} --prefix="$prefix" --disable-shared --enable-static --disable-https \
      --disable-doc --disable-examples --disable-curl --disable-tools
    quietly make -j "$jobs" -C src/microhttpd install
    quietly make -C src/include install
    cp libmicrohttpd.pc "$prefix/lib/pkgconfig/"
    ;;
  librdkafka)
    by_cmake -DRDKAFKA_BUILD_STATIC=ON -DRDKAFKA_BUILD_EXAMPLES=OFF -DRDKAFKA_BUILD_TESTS=OFF -DWITH_SSL=OFF -DWITH_SASL=OFF \
      -DWITH_ZSTD=OFF -DWITH_CURL=OFF -DENABLE_LZ4_EXT=OFF -DWITH_ZLIB=ON -DZLIB_LIBRARY="$prefix/lib/libz.a" \
      -DZLIB_INCLUDE_DIR="$prefix/include"
    quietly cmake --build build -j "$jobs" --target rdkafka
    mkdir -p "$prefix/include/librdkafka"
    cp src/rdkafka.h "$prefix/include/librdkafka/"
    cp build/src/librdkafka.a "$prefix/lib/"
    { printf 'Name: rdkafka\nDescription: Kafka\nVersion: 2.8.0\n'
      printf 'Libs: -L%s/lib -lrdkafka -lz -lm -ldl -lpthread\nCflags: -I%s/include\n' "$prefix" "$prefix"
    } >"$prefix/lib/pkgconfig/rdkafka.pc"
    ;;
  fmtlib) # it checks formats in a way that newer versions of clang refuse
    sed -i '1i #define FMT_CONSTEVAL' include/fmt/core.h
    by_cmake -DFMT_TEST=OFF -DFMT_DOC=OFF
    quietly cmake --build build -j "$jobs" --target install
    ;;
  nlohmann-json3) by_cmake -DJSON_BuildTests=OFF && quietly cmake --build build --target install ;;
  cli11)
    by_cmake -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF -DCLI11_BUILD_DOCS=OFF -DCLI11_SINGLE_FILE=OFF
    quietly cmake --build build --target install
    ;;
  esac
}

grep -v '^#' "$here/sources.txt" >"$work/list"
for name in zlib sqlite3 libmicrohttpd librdkafka fmtlib nlohmann-json3 cli11; do
  if [ -f "$prefix/$name.made" ]; then continue; fi
  read -r sum place <<WANTED
$(grep "/${name}_" "$work/list")
WANTED
  archive=$sources/$(basename "$place")
  [ -f "$archive" ] || quietly curl -fsSL -o "$archive" "$("$here/debian-mirror.sh")/$place"
  echo "$sum  $archive" | sha256sum --check --quiet
  mkdir "$work/$name"
  tar xf "$archive" -C "$work/$name" --strip-components 1
  cd "$work/$name"
  for terms in COPYING LICENSE LICENSE.rst LICENSE.MIT LICENSES.txt LICENSE.md; do
    if [ -f "$terms" ]; then cp "$terms" "$prefix/licenses/$name" && break; fi
  done
  make_library "$name"
  touch "$prefix/$name.made"
done
