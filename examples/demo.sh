#!/bin/sh
# A real file crosses a 24-node star network while two nodes die; the schedule is proven, bounded, run and drawn.
set -eu
BIN=${BIN:-.venv/bin}
FILE=${FILE:-docs/pictures/star4-trees.png}
test -r "$FILE" || { printf 'error: FILE=%s cannot be read: name a file\n' "$FILE" >&2; exit 2; }
OUT=$(mktemp -d)
trap 'rm -rf "$OUT"' EXIT INT TERM

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then BOLD=$(printf '\033[1m') PLAIN=$(printf '\033[0m'); else BOLD= PLAIN=; fi
step() { printf '\n%s%s%s\n' "$BOLD" "$1" "$PLAIN"; }
show() { printf '$ treecast %s\n' "$*" | sed "s#$OUT/##g"; "$BIN/treecast" "$@"; }

cat << END
The star network S_4 has the 24 orders of 1234 as nodes; a link swaps the first symbol with another, so each node has 3 links.
$FILE is cut into 60 messages. Node 1234, the root, has them all; every node is to get them. In a step each link carries one.
END

step "1. Plan a broadcast that survives any 2 faults nobody knows of; it is verified at once"
show plan broadcast star:4 --messages 60 --survive 2 -o "$OUT/plan.tc"

step "2. Prove it once more: replay it under every set of at most 2 dead nodes or links"
show verify "$OUT/plan.tc" --sweep nodes+links

step "3. Run it on the file; nodes 2134 and 4231 die in mid-transfer"
show run "$OUT/plan.tc" --input "$FILE" --dead-nodes 2134@9 4231@14

step "4. The same deaths, when every message goes in one copy, over one of three trees"
echo '$ treecast plan broadcast star:4 --messages 60 -o one-copy.tc    # its report is left out here'
"$BIN/treecast" plan broadcast star:4 --messages 60 -o "$OUT/one-copy.tc" > /dev/null 2>&1
show simulate "$OUT/one-copy.tc" --dead-nodes 2134@9 4231@14 || true

step "5. The run of step 3, step by step"
show draw "$OUT/plan.tc" --kind space-time --dead-nodes 2134@9 4231@14

step "6. A picture of the three edge-disjoint trees"
show draw "$OUT/plan.tc" -o treecast-demo.png

step "That is all"
cat << END
Every message went to each node over three trees that share no node on the way, so two deaths kept nothing from the living (3).
In one copy 21 of 22 living nodes lack something (4). The picture is in treecast-demo.png.
What to try next (treecast is in $BIN):
  treecast plan broadcast torus:4x4x4 --messages 600 --survive 1    a network of yours; 'treecast networks' lists them
  treecast builders allreduce torus:4x4x4                           what there is for a job, and what each takes
  treecast help words                                               the words of these reports
END
