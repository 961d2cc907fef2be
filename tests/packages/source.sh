#!/bin/bash
# source.sh DIST: the source of a folder, by pip alone, in bare Debians 11 and 12. What the build lacks is said in one
# line: a compiler, one that is new enough, the headers of Python. With these it is built, and the lines of README run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
dist=$(realpath "$1")
version=$(sed -n 's/^project(kalstream VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
said=$(mktemp)
trap 'rm -f "$said"' EXIT

bare() { # bare SUITE: a copy of that Debian, with an environment and the source
  base=$("$here/chroot.sh" "$1")
  folder=$base.source
  rm -rf "$folder"
  cp -a "$base" "$folder"
  rm -rf "$folder/venv"
  cp "$dist/kalstream-$version.tar.gz" "$folder/"
  awk '/^```python/ { on = 1; next } /^```/ && on { exit } on' "$root/README.md" >"$folder/readme.py"
  inside python3 -m venv /venv
  inside apt-get update -qq
}
inside() { "$here/inside.sh" "$folder" "$@"; }
add() { inside apt-get install -y -qq --no-install-recommends "$@" >"$said" 2>&1 || { cat "$said" && exit 1; }; }
install() { inside /venv/bin/pip install "/kalstream-$version.tar.gz" >"$said" 2>&1; }

refused() { # refused WORDS: it is not built, and the line that says why has these words
  if install; then echo "it was built, but should have said: $1" && exit 1; fi
  grep "kalstream: to build it takes .*$1" "$said" || { cat "$said" && exit 1; }
}

echo "== the source on Debian 11"
bare bullseye
add g++ libc6-dev
refused 'is too old'
rm -rf "$folder"

echo "== the source on Debian 12"
bare bookworm
refused 'there is none'
add g++ libc6-dev
refused 'there are none'
add python3-dev
install || { tail -40 "$said" && exit 1; }
inside /venv/bin/python /readme.py
rm -rf "$folder"
echo "source.sh: all is well"
