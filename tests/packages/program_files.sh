#!/bin/sh
# program_files.sh PROGRAM SOURCE_DIR: the manual pages, completions and the service that come with the program are such
# that man, the shells and systemd take them; of these tools, those that are here.
set -eu
program=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$source/tools/program-files.py" "$program" "$work/share"
for page in "$work"/share/man/man1/*.1; do
  if command -v groff >/dev/null; then groff -man -Tutf8 -ww -z "$page" >"$work/said" 2>&1; fi
  if [ -s "$work/said" ]; then cat "$work/said" && exit 1; fi
done
grep -q 'follow' "$work/share/man/man1/kalstream-stream.1"

bash -n "$work/share/bash-completion/completions/kalstream"
# shellcheck disable=SC2016 # of the other shell
bash -c '. "$1"
  COMP_WORDS=(kalstream str) COMP_CWORD=1; _kalstream; [ "${COMPREPLY[*]}" = stream ]
  COMP_WORDS=(kalstream stream --hor) COMP_CWORD=2; _kalstream; [ "${COMPREPLY[*]}" = --horizon ]
  COMP_WORDS=(kalstream stream --missing "") COMP_CWORD=3; _kalstream; [ "${COMPREPLY[*]}" = "learn refuse hold" ]' \
  - "$work/share/bash-completion/completions/kalstream"
if command -v zsh >/dev/null; then zsh -n "$work/share/zsh/vendor-completions/_kalstream"; fi
if command -v fish >/dev/null; then fish -n "$work/share/fish/vendor_completions.d/kalstream.fish"; fi

if command -v systemd-analyze >/dev/null; then
  # The program that it starts has to be there for systemd to be content.
  sed "s|/usr/bin/kalstream|$(realpath "$program")|" "$source/packaging/kalstream@.service" >"$work/kalstream@test.service"
  systemd-analyze verify --man=no "$work/kalstream@test.service"
fi
