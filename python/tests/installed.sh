#!/bin/sh
# The package as users get it: built by pip from this tree, in an environment with nothing but NumPy, away from the
# sources.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet "$root" pytest
cd "$work"
"$work/venv/bin/python" -c 'import kalstream; print(kalstream.__version__, kalstream.__file__)'
# kalstream.river and the like skip themselves; the program is the one next door, if it is built.
"$work/venv/bin/python" -m pytest -q -c "$root/pyproject.toml" --rootdir "$root" -p no:cacheprovider \
  "$root/python/tests"
if command -v ldd >/dev/null; then
  ldd "$work"/venv/lib/python*/site-packages/kalstream/_core*.so | grep -E 'fmt|libz' &&
    { echo "the extension needs a library that a wheel does not bring"; exit 1; }
fi
exit 0
