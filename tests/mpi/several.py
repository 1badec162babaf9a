"""Run by mpirun: several commands of treecast, one after the other, in the same ranks. They are words as JSON, a list each."""

import json
import sys

from treecast.cli import main

sys.exit(max(main(words) for words in json.loads(sys.argv[1])))
