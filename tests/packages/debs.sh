#!/bin/sh
# debs.sh DIST: the Debian packages of a folder, installed by apt in bare Debians 12 and 13: the program, the library for
# C by an example, and the Python package.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dist=$(realpath "$1")
for suite in bookworm trixie; do
  base=$("$here/chroot.sh" $suite)
  folder=$base.debs
  rm -rf "$folder"
  cp -a "$base" "$folder"
  rm -rf "$folder/wheels" "$folder/venv"
  mkdir "$folder/debs"
  cp "$dist"/*.deb "$folder/debs/"
  echo "== $suite"
  "$here/inside.sh" "$folder" sh -euc '
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends /debs/kalstream_*.deb >/dev/null 2>&1
    kalstream --version
    kalstream demo >/tmp/demo && tail -3 /tmp/demo
    kalstream fleet --help >/dev/null && kalstream serve --help >/dev/null
    apt-get install -y -qq --no-install-recommends man-db bash-completion systemd >/dev/null 2>&1
    man kalstream-stream | grep -q -- --follow
    bash -c ". /usr/share/bash-completion/completions/kalstream; COMP_WORDS=(kalstream str) COMP_CWORD=1; _kalstream; echo \${COMPREPLY[*]}"
    systemd-analyze verify kalstream@boiler.service
    apt-get install -y -qq --no-install-recommends /debs/*.deb gcc libc6-dev pkg-config >/dev/null 2>&1
    cc -std=c99 -O2 /source/examples/c/live_stream.c $(pkg-config --cflags --libs kalstream-c) -lm -o /tmp/in_c
    /tmp/in_c | tee /tmp/digits | tail -1
    python3 -c "import kalstream; print(kalstream.__version__, kalstream.Learner(\"auto\", inputs=1).predict([1.0]))"
    apt-get remove -y -qq kalstream libkalstream0 >/dev/null 2>&1'
  if [ -z "${digits:-}" ]; then digits=$(cat "$folder/tmp/digits"); fi
  [ "$digits" = "$(cat "$folder/tmp/digits")" ] || { echo "the example in C prints other digits" && exit 1; }
  rm -rf "$folder"
done
echo "debs.sh: all is well"
