#!/bin/sh
# build.sh [FILE]: compiles the addon against libkalstream.so, which pkg-config finds, and the headers of the Node that
# runs. A C compiler and pkg-config are all it needs.
set -eu
cd "$(dirname "$0")"
out=${1:-kalstream.node}
if ! pkg-config --exists kalstream-c; then
  echo "libkalstream is not installed: pkg-config knows no kalstream-c. Install libkalstream-dev" >&2
  exit 1
fi
prefix=$(node -p 'require("path").dirname(require("path").dirname(fs.realpathSync(process.execPath)))')
for include in "$prefix/include/node" /usr/include/node /usr/include/nodejs/src; do
  [ -f "$include/node_api.h" ] && break
done
if [ ! -f "$include/node_api.h" ]; then
  echo "node_api.h is not there: install the headers of Node (Debian: libnode-dev)" >&2
  exit 1
fi
# shellcheck disable=SC2046 # lists of words
${CC:-cc} -std=c99 -O2 -Wall -Wextra -fPIC -shared -fvisibility=hidden -I"$include" addon.c -o "$out" \
  $(pkg-config --cflags --libs kalstream-c) -Wl,-rpath,"$(pkg-config --variable=libdir kalstream-c)"
