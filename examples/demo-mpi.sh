#!/bin/sh
# A real file goes from one process to 23 others, over MPI; two of them are killed (SIGKILL) in mid-transfer.
set -eu
BIN=${BIN:-.venv/bin}
FILE=${FILE:-docs/pictures/star4-trees.png}
OUT=$(mktemp -d)
trap 'rm -rf "$OUT"' EXIT INT TERM

"$BIN/treecast" plan broadcast star:4 --messages 24 --survive 2 -o "$OUT/plan.tc"
echo
echo "\$ treecast run plan.tc --mpi --input $FILE --kill 2134@3,4231@10"
"$BIN/treecast" run "$OUT/plan.tc" --mpi --input "$FILE" --kill 2134@3,4231@10 --timeout 300
