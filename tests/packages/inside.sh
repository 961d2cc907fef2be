#!/bin/sh
# inside.sh FOLDER COMMAND…: runs it in the Debian of chroot.sh that is in FOLDER, with nothing of this machine's
# environment; this tree is there as /source, to read.
set -eu
folder=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
shift
mkdir -p "$folder/source"
# shellcheck disable=SC2016 # of the shell that is started
exec unshare --mount sh -c '
  folder=$1; root=$2; shift 2
  mount -t proc proc "$folder/proc"
  mount --bind "$root" "$folder/source"
  mount -o remount,bind,ro "$folder/source"
  exec chroot "$folder" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1 "$@"' sh "$folder" "$root" "$@"
