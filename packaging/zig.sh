#!/bin/sh
# zig.sh PYTHON TARGET FOLDER: compilers that build for another machine or an older glibc (x86_64-linux-gnu.2.17), as
# FOLDER/cc, c++, ar and ranlib. Zig comes from PyPI (ziglang) and brings the headers of every glibc.
set -eu
zig=$("$1" -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')
mkdir -p "$3"
for tool in cc c++; do printf '#!/bin/sh\nexec "%s" %s -target %s "$@"\n' "$zig" "$tool" "$2" >"$3/$tool"; done
for tool in ar ranlib; do printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$zig" "$tool" >"$3/$tool"; done
chmod +x "$3"/*
