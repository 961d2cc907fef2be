#!/bin/sh
# reproducible.sh DIST: builds what is in DIST again, out of a clone at another place, and compares the bytes. DIST has to be
# of this very commit. Only the architecture of this machine: the other is built by the same steps.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
dist=$(realpath "$1")
again=$root/build/again/a-place-with-another-name
if [ -n "$(git -C "$root" status --porcelain)" ]; then echo "reproducible.sh: commit first; a clone has no more than that" && exit 1; fi
rm -rf "$root/build/again"
git clone --quiet "$root" "$again"
mkdir -p "$again/build"
ln -s "$root/build/sources" "$again/build/sources"       # what was fetched, by its checksum
ln -s "$root/build/packaging-venv" "$again/build/packaging-venv"
touch "$root/build/packaging-venv/ready"                 # the clone's list of what is in it is younger
(cd "$again" && CCACHE_DISABLE=1 make sdist deb tarball) # deb makes the wheels, too
differ=0
for file in "$again"/build/dist/*; do
  if cmp "$file" "$dist/$(basename "$file")"; then echo "the same: $(basename "$file")"; else differ=1; fi
done
rm -rf "$root/build/again"
exit $differ
