#!/bin/sh
# bindings.sh BUILD_DIR SOURCE_DIR: installs the library for C into an empty place and tests the package of each language
# on it: the same bits as C++, its own tests, its README, and an example that prints the digits of the one in C (Go two of them). A
# language whose tools are not here is left out, and that is said.
set -eu
build=$(realpath "$1")
source=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" --component c >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name kalstream-c.pc)")
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$(pkg-config --variable=libdir kalstream-c)
export LD_LIBRARY_PATH
export KALSTREAM_VECTORS="$work/vectors.txt"
"$build/kalstream_vectors" >"$KALSTREAM_VECTORS"
# shellcheck disable=SC2046 # lists of words
${CC:-cc} -std=c99 -O2 "$source/examples/c/live_stream.c" $(pkg-config --cflags --libs kalstream-c) -lm -o "$work/in_c"
"$work/in_c" >"$work/expected"

has() { # has LANGUAGE TOOL: whether it can be tested
  if command -v "$2" >/dev/null; then echo "== $1"; else echo "== $1: skipped, there is no $2" && return 1; fi
}

if has Rust cargo; then
  export CARGO_TARGET_DIR="$build/rust"
  cd "$source/bindings/rust"
  cargo test --quiet --offline
  cargo run --quiet --offline --example live_stream | cmp - "$work/expected"
fi
if has Go go; then
  cd "$source/bindings/go"
  # Go keeps what it has compiled, and does not notice that pkg-config names another folder today.
  CGO_LDFLAGS=$(pkg-config --libs-only-L kalstream-c)
  export CGO_LDFLAGS
  go vet ./...
  go test ./...
  # Go has a sine of its own, whose last bit may be another, and so the last digit of an error.
  two_digits() { sed -E 's/(\.[0-9]{2})[0-9]/\1/g' "$@"; }
  two_digits "$work/expected" >"$work/two_digits"
  go run ./examples/live_stream | two_digits | cmp - "$work/two_digits"
fi
if has Node node; then
  cd "$source/bindings/node"
  export KALSTREAM_NODE_ADDON="$work/kalstream.node"
  sh build.sh "$KALSTREAM_NODE_ADDON"
  node --test --test-reporter=spec test/
  node examples/live_stream.js | cmp - "$work/expected"
fi
