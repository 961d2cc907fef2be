#!/bin/sh
# deb.sh TREE OUT PYTHON: Debian packages out of what `make install` has put into TREE (PREFIX=/usr), into the folder OUT:
# kalstream, libkalstream0, libkalstream-dev and, out of the wheels that were unpacked into the folder PYTHON,
# python3-kalstream. They hold the dates of SOURCE_DATE_EPOCH, so that the same tree gives the same bytes.
set -eu
tree=$(realpath "$1")
out=$2
python=$(realpath "$3")
version=$("$tree/usr/bin/kalstream" --version | sed -n 's/^kalstream //p')
maintainer=${MAINTAINER:-The kalstream authors <kalstream@localhost>}
source=$(realpath "$(dirname "$0")/..")
architecture=$(dpkg --print-architecture)
multiarch=$(gcc -print-multiarch)
: "${SOURCE_DATE_EPOCH:=$(git -C "$source" log -1 --format=%ct 2>/dev/null || echo 0)}"
export SOURCE_DATE_EPOCH
mkdir -p "$out"
out=$(realpath "$out")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
printf 'kalstream (%s) unstable; urgency=medium\n\n  * Version %s; CHANGELOG.md has what is new.\n\n -- %s  %s\n' \
  "$version" "$version" "$maintainer" "$(date -R -u -d "@$SOURCE_DATE_EPOCH")" >"$work/changelog"

take() { # take PACKAGE PATH…: moves what is there of the tree into the package
  to=$work/$1
  shift
  for path in "$@"; do
    for found in "$tree"/usr/$path; do
      if [ -e "$found" ] || [ -L "$found" ]; then
        place=$to/${found#"$tree"/}
        mkdir -p "$(dirname "$place")"
        cp -a "$found" "$place"
      fi
    done
  done
}

needs() { # needs PACKAGE: the packages whose libraries its programs and libraries use
  mkdir -p "$work/shlibs/debian"
  printf 'Source: kalstream\n\nPackage: %s\nArchitecture: any\n' "$1" >"$work/shlibs/debian/control"
  (cd "$work/shlibs" && find "$work/$1" -type f \( -path '*/bin/*' -o -name '*.so*' \) -exec \
    dpkg-shlibdeps --ignore-missing-info -O {} + 2>/dev/null) | sed -n 's/^shlibs:Depends=//p'
}

finish() { # finish PACKAGE SECTION DEPENDS SUMMARY DESCRIPTION
  root=$work/$1
  doc=$root/usr/share/doc/$1
  mkdir -p "$doc" "$root/DEBIAN"
  { printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: kalstream\n\n'
    printf 'Files: *\nCopyright: %s\nLicense: Expat\n' "$(sed -n 's/^Copyright (c) //p' "$source/LICENSE")"
    sed '1,/^Copyright/d' "$source/LICENSE" | sed '/./,$!d; s/^$/./; s/^/ /'; } >"$doc/copyright"
  gzip -9nc "$work/changelog" >"$doc/changelog.gz"
  find "$root" -name '*.1' -exec gzip -9n {} +
  find "$root" -type d -exec chmod 755 {} +
  find "$root" -type f ! -path '*/bin/*' -exec chmod 644 {} +
  { printf 'Package: %s\nSource: kalstream\nVersion: %s\nArchitecture: %s\n' "$1" "$version" "$architecture"
    printf 'Maintainer: %s\n' "$maintainer"
    printf 'Installed-Size: %s\n' "$(du -ks --exclude=DEBIAN "$root" | cut -f1)"
    if [ -n "$3" ]; then printf 'Depends: %s\n' "$3"; fi
    printf 'Section: %s\nPriority: optional\nMulti-Arch: %s\n' "$2" "$([ "$2" = science ] || [ "$2" = python ] && echo foreign || echo same)"
    printf 'Description: %s\n %s\n' "$4" "$5"; } >"$root/DEBIAN/control"
  (cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
  find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group --build "$root" "$out/$1_${version}_$architecture.deb" >/dev/null
  echo "$out/$1_${version}_$architecture.deb"
}

about='It predicts a live stream and learns from every sample, by small networks under
 Kalman-type training.'

take libkalstream0 "lib/$multiarch/libkalstream.so.*"
mkdir -p "$work/libkalstream0/DEBIAN"
echo "libkalstream 0 libkalstream0 (>= $version)" >"$work/libkalstream0/DEBIAN/shlibs"
echo 'activate-noawait ldconfig' >"$work/libkalstream0/DEBIAN/triggers"
finish libkalstream0 libs "$(needs libkalstream0)" 'online regression on live streams - library for C' "$about
 .
 This package has the shared library that programs in C and other languages use."

take libkalstream-dev include "lib/$multiarch/*.a" "lib/$multiarch/libkalstream.so" "lib/$multiarch/pkgconfig" "lib/$multiarch/cmake"
finish libkalstream-dev libdevel "libkalstream0 (= $version)" 'online regression on live streams - development files' "$about
 .
 This package has the headers for C and C++, the library for C++, and the
 files by which pkg-config and CMake find them."

take kalstream bin share lib/systemd
mkdir -p "$work/kalstream/lib" "$work/kalstream/etc/kalstream"
mv "$work/kalstream/usr/lib/systemd" "$work/kalstream/lib/systemd"
rmdir "$work/kalstream/usr/lib"
finish kalstream science "$(needs kalstream)" 'online regression on live streams - program' "$about
 .
 This package has the program, its manual pages, completions for bash, zsh and
 fish, and a service for live streams."

place=$work/python3-kalstream/usr/lib/python3/dist-packages
about_python=$place/kalstream-$version.dist-info
mkdir -p "$about_python"
cp -a "$python/kalstream" "$place/" # one extension for every older Python, and one for all newer ones
cp "$python/kalstream-$version.dist-info/METADATA" "$about_python/"
finish python3-kalstream python "python3 (>= 3.9), python3-numpy (>= 1:1.23~), $(needs python3-kalstream)" \
  'online regression on live streams - Python package' "$about
 .
 This package has the module for Python 3."
