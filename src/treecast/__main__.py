"""``python -m treecast``."""

import sys

from treecast.cli import main

sys.exit(main())
