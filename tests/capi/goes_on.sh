#!/bin/sh
# goes_on.sh GOES_ON PROGRAM: a stream that the program has kept goes on in C, and one that C has kept in the program,
# as if nothing had happened; so does one that was kept before its first record.
set -eu
goes_on=$(realpath "$1")
program=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

settings='{"target":"y","learner":"rls","interval":0.9,"horizon":2}'
options='--target y --learner rls --interval 0.9 --horizon 2 --quiet'
awk 'BEGIN { for (t = 0; t < 60; ++t) printf "{\"x\":%d,\"y\":%d}\n", t % 7, (t * t) % 11 }' >all
head -30 all >first
tail -30 all >second
# shellcheck disable=SC2086 # a list of words
"$program" stream $options <all >expected

# shellcheck disable=SC2086
"$program" stream $options --checkpoint by_program <first >answers
"$goes_on" "$settings" by_program <second >>answers
cmp answers expected

"$goes_on" "$settings" <first >answers
cp after by_c
# shellcheck disable=SC2086
"$program" stream $options --checkpoint by_c --resume <second >>answers
cmp answers expected

"$goes_on" "$settings" </dev/null
cp after before_all
"$goes_on" "$settings" before_all <all | cmp - expected
