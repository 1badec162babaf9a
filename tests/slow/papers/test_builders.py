"""The builders of papers are found as others are, and each stays behind what is known to be better."""

import subprocess
import sys


def test_planning_imports_no_statement_of_a_paper():
    script = (
        "import sys, treecast; treecast.plan('broadcast', 'path:3')\n"
        "found = [name for name in sys.modules if name.startswith('treecast.papers.') and name.count('.') > 2]\n"
        "assert found and all('.builders' in name for name in found), found\n"
        "assert 'treecast.papers.theorems' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
