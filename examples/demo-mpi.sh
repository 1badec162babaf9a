#!/bin/sh
# A real file goes from one process to 23 others, over MPI; two of them are killed (SIGKILL) in mid-transfer.
set -eu
BIN=${BIN:-.venv/bin}
FILE=${FILE:-docs/pictures/star4-trees.png}
test -r "$FILE" || { printf 'error: FILE=%s cannot be read: name a file\n' "$FILE" >&2; exit 2; }
OUT=$(mktemp -d)
trap 'rm -rf "$OUT"' EXIT INT TERM

"$BIN/treecast" plan broadcast star:4 --messages 24 --survive 2 -o "$OUT/plan.tc"
printf '\n$ treecast run plan.tc --mpi --input %s --dead-nodes 2134@3 4231@10\n' "$FILE"
"$BIN/treecast" run "$OUT/plan.tc" --mpi --input "$FILE" --dead-nodes 2134@3 4231@10 --timeout 300
