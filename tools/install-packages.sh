#!/bin/sh
# install-packages.sh PACKAGE…: installs the Debian packages that are missing, and says which. Does
# nothing when all are there, so it works without root (and without apt) once a machine is set up.
set -eu

missing=""
for package in "$@"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "ok installed" ||
    missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "Please install what these Debian packages provide:$missing" >&2
  exit 1
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Please run as root: apt-get install$missing" >&2
    exit 1
  fi
  as_root="sudo"
fi
echo "Installing missing packages:$missing"
$as_root apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
