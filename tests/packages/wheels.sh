#!/bin/bash
# wheels.sh DIST: the wheels of a folder, as users meet them: what they hold, every Python that is here, and bare
# Debians 11, 12 and 13 without a compiler, the last also as aarch64. In each the lines of README run; in the oldest and
# the newest Python and in the Debians, the tests of the package, too. KALSTREAM_STRICT=1 holds times to what is promised.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
dist=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^project(kalstream VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
readme=$work/readme.py
awk '/^```python/ { on = 1; next } /^```/ && on { exit } on' "$root/README.md" >"$readme"

promise() { # promise NAME SECONDS AT_MOST
  echo "   $1: $2 s (at most $3)"
  if [ -n "${KALSTREAM_STRICT:-}" ] && awk "BEGIN { exit !($2 > $3) }"; then exit 1; fi
}
import_time='import time; t = time.perf_counter(); import kalstream; print(f"{time.perf_counter() - t:.3f}")'
shortest() { for _ in 1 2 3 4 5; do "$@" -c "$import_time"; done | sort -n | head -1; }

echo "== what they hold"
for wheel in "$dist"/*.whl; do
  size=$(stat -c %s "$wheel")
  ((size <= 8 * 1024 * 1024)) || { echo "$wheel has $size bytes: more than 8 MiB" && exit 1; }
  "$root/build/packaging-venv/bin/auditwheel" show "$wheel" >"$work/said" 2>&1 || { cat "$work/said" && exit 1; }
  tr '\n' ' ' <"$work/said" | grep -q 'consistent with the following platform tag: "manylinux_2_17_' || { cat "$work/said" && exit 1; }
  echo "   $(basename "$wheel"): $((size / 1024)) KiB, manylinux_2_17"
done

tests=(-m pytest -q -p no:cacheprovider -m 'not slow')
pythons=()
for minor in 9 10 11 12 13 14; do
  for python in "$HOME"/.pyenv/versions/3.$minor.*/bin/python3 /usr/bin/python3.$minor; do
    if [ -x "$python" ]; then pythons+=("$python") && break; fi
  done
done
for python in "${pythons[@]}"; do
  echo "== $("$python" --version)"
  rm -rf "$work/venv"
  "$python" -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --only-binary :all: --find-links "$dist" "kalstream==$version" pytest
  (cd "$work" && venv/bin/python "$readme" >/dev/null && venv/bin/kalstream --version | head -1)
  promise import "$(cd "$work" && shortest venv/bin/python)" 0.15
  if [ "$python" = "${pythons[0]}" ] || [ "$python" = "${pythons[-1]}" ]; then
    (cd "$work" && KALSTREAM_PROGRAM=$work/venv/bin/kalstream venv/bin/python "${tests[@]}" -c "$root/pyproject.toml" \
      --rootdir "$root" "$root/python/tests")
  fi
done

in_debian() { # in_debian SUITE ARCHITECTURE
  folder=$("$here/chroot.sh" "$1" "$2")
  echo "== Debian $(cat "$folder/etc/debian_version"), $2"
  rm -rf "$folder/wheels" "$folder/venv" "$folder/root/.cache" # nothing that pip has fetched before
  mkdir "$folder/wheels"
  cp "$dist"/*.whl "$readme" "$folder/wheels/"
  if "$here/inside.sh" "$folder" sh -c 'command -v c++ g++ gcc cc'; then echo "there is a compiler in $folder" && exit 1; fi
  "$here/inside.sh" "$folder" python3 -m venv /venv
  start=$(date +%s.%N)
  "$here/inside.sh" "$folder" /venv/bin/pip install --quiet --only-binary :all: --find-links /wheels "kalstream==$version"
  "$here/inside.sh" "$folder" /venv/bin/python /wheels/readme.py
  took=$(awk "BEGIN { printf \"%.1f\", $(date +%s.%N) - $start }")
  "$here/inside.sh" "$folder" /venv/bin/kalstream --version
  "$here/inside.sh" "$folder" /venv/bin/pip install --quiet --only-binary :all: pytest
}
tests_in_debian() { # tests_in_debian FILE…, of python/tests
  "$here/inside.sh" "$folder" env KALSTREAM_PROGRAM=/venv/bin/kalstream /venv/bin/python "${tests[@]}" -c /source/pyproject.toml \
    --rootdir /source "${@/#//source/python/tests}"
}
for suite in bullseye bookworm trixie; do
  in_debian $suite amd64
  promise 'pip install and the lines of README' "$took" 20
  tests_in_debian ''
done

in_debian bookworm arm64
tests+=(-k 'not nothing_leaks') # qemu itself keeps 280 KiB of every thread that has ended
tests_in_debian /test_learner.py /test_package.py # all of them would take long by qemu
"$here/inside.sh" "$folder" sh -c '/venv/bin/kalstream generate narma10 --rows 300 | /venv/bin/kalstream stream --learner rls | tail -1'
echo "wheels.sh: all is well"
