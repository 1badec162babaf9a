#!/bin/sh
# Four processes add over sockets, without MPI: one is killed (SIGKILL) and comes back, one is stopped (SIGSTOP) and is out.
set -eu
BIN=${BIN:-.venv/bin}

printf '$ treecast launch --tcp --respawn 1 -n 4 -- python examples/comeback.py\n'
"$BIN/treecast" launch --tcp --respawn 1 -n 4 --timeout 120 -- "$BIN/python" examples/comeback.py
