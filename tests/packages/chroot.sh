#!/bin/sh
# chroot.sh SUITE [ARCHITECTURE]: a bare Debian (bullseye, bookworm, trixie) with Python and pip and no compiler, kept under
# build/chroots; prints its folder. One of another machine runs by qemu-user.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
suite=$1
architecture=${2:-$(dpkg --print-architecture)}
place=$root/build/chroots/$suite-$architecture

if [ "$architecture" != "$(dpkg --print-architecture)" ]; then
  "$root/tools/install-packages.sh" qemu-user-static >&2
  registered=/proc/sys/fs/binfmt_misc
  if [ ! -e $registered/register ]; then mount -t binfmt_misc binfmt_misc $registered; fi
  if [ ! -e $registered/qemu-aarch64 ]; then cat /usr/lib/binfmt.d/qemu-aarch64.conf >$registered/register; fi
fi
if [ ! -f "$place/ready" ]; then
  "$root/tools/install-packages.sh" debootstrap >&2
  rm -rf "$place"
  mkdir -p "$place"
  debootstrap --arch="$architecture" --variant=minbase --include=ca-certificates,python3,python3-venv "$suite" "$place" \
    "$("$root/packaging/debian-mirror.sh")" >"$place.log" || { tail -5 "$place.log" >&2 && exit 1; }
  chroot "$place" apt-get clean
  touch "$place/ready"
fi
cp /etc/resolv.conf "$place/etc/resolv.conf"
cp /etc/ssl/certs/ca-certificates.crt "$place/etc/ssl/certs/ca-certificates.crt" # with those that this machine adds
echo "$place"
