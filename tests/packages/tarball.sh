#!/bin/sh
# tarball.sh DIST: the program of the tarball needs nothing: it runs where there is no other file.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar xzf "$1"/kalstream-*-linux-x86_64.tar.gz -C "$work" --strip-components 1
mkdir "$work/tmp" "$work/proc"
chroot "$work" /bin/kalstream --version
chroot "$work" /bin/kalstream demo >"$work/said"
tail -3 "$work/said"
for door in serve fleet; do chroot "$work" /bin/kalstream $door --help >/dev/null; done
echo "tarball.sh: all is well"
