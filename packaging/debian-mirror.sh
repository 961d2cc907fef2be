#!/bin/sh
# Where Debian's packages come from: DEBIAN_MIRROR, or what this system's apt uses.
set -e
if [ -n "$DEBIAN_MIRROR" ]; then echo "$DEBIAN_MIRROR" && exit; fi
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -E '/debian/?$' | head -1 || true)
[ -n "$mirror" ] || { echo "no Debian mirror is known: set DEBIAN_MIRROR to one" >&2 && exit 1; }
echo "${mirror%/}"
