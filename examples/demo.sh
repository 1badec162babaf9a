#!/bin/sh
# A real file crosses a 24-node star network while two nodes die; the schedule is proven, bounded, run and drawn.
set -eu
BIN=${BIN:-.venv/bin}
FILE=${FILE:-docs/pictures/star4-trees.png}
OUT=$(mktemp -d)
trap 'rm -rf "$OUT"' EXIT INT TERM

step() { printf '\n\033[1m%s\033[0m\n' "$1"; }
show() { printf '$ treecast %s\n' "$*" | sed "s#$OUT/##g"; "$BIN/treecast" "$@"; }

step "1. Plan a broadcast on the star network S_4 that survives any 2 faults nobody knows of; it is verified at once"
show plan broadcast star:4 --messages 60 --survive 2 -o "$OUT/plan.tc"

step "2. Prove it once more: replay it under every set of at most 2 dead nodes or links"
show verify "$OUT/plan.tc" --sweep nodes+links

step "3. Run it on a real file; nodes 2134 and 4231 die in mid-transfer"
show run "$OUT/plan.tc" --input "$FILE" --kill-nodes 2134@9 4231@14

step "4. The same deaths, when every message goes over one tree only"
"$BIN/treecast" plan broadcast star:4 --messages 60 -o "$OUT/one-copy.tc" > /dev/null 2>&1
show simulate "$OUT/one-copy.tc" --kill-nodes 2134@9 4231@14 || true

step "5. The run of step 3, step by step"
show draw "$OUT/plan.tc" --kind space-time --kill-nodes 2134@9 4231@14

step "6. A picture of the three edge-disjoint trees"
show draw "$OUT/plan.tc" -o treecast-demo.png
