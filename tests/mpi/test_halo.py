"""Revoked communicators: whoever is in a call or a message leaves it, and goes on with ``Shrink``."""

import sys

import pytest

from tests.mpi.conftest import ROOT, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "MPI is there")
KINDS = ("quick", "long", "object", "barrier", "blocks", "begun", "message", "one way", "in place", "later")


@pytest.mark.each(3)
@pytest.mark.parametrize("kind", KINDS)
def test_all_ranks_leave_what_one_revokes(treecast, kind):
    done = treecast("launch", "-n", 3, "--timeout", 90, "--", sys.executable, ROOT / "tests/mpi/revoke_cases.py", kind)
    assert (done.returncode, sorted(done.stdout.splitlines()), done.stderr) == (0, ["3 3"] * 3 + ["True 3"] * 3, "")
