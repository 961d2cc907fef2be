#!/bin/sh
# symbols.sh LIBRARY HEADER: the shared library shows the functions of the header, each with the version it came with,
# and nothing else; it needs nothing that is not on every machine.
set -eu
library=$1
header=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sort >"$work/shown"
grep -o '^[a-z].* \**\(kalstream_[a-z_]*\)(' "$header" | grep -o 'kalstream_[a-z_]*($' | tr -d '(' | sort >"$work/declared"
sed 's/@@KALSTREAM_[0-9.]*$//' "$work/shown" | diff "$work/declared" -
! grep -v '@@KALSTREAM_[0-9.]*$' "$work/shown"

readelf -d "$library" | grep -q 'SONAME.*\[libkalstream\.so\.0\]'
# shellcheck disable=SC2016 # of awk
readelf -d "$library" | awk '/NEEDED/ {gsub(/[][]/, "", $NF); print $NF}' >"$work/needed"
if grep -vE '^(libstdc\+\+|libm|libgcc_s|libc|libpthread|ld-linux.*|lib[a-z]*san)\.so\.[0-9]+$' "$work/needed"; then
  echo "the library needs more than it should" >&2
  exit 1
fi
