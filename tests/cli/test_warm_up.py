"""``treecast warm-up``: the jobs themselves are run by tests/kernels."""

import os

import pytest

from treecast import compiled
from treecast.cli.verbs.warm_up import COMMANDS


@pytest.mark.parametrize("interrupted", [False, True])
def test_small_jobs_are_run_compiled_in_a_folder_of_their_own(ask, monkeypatch, tmp_path, interrupted):
    seen, here = [], os.getcwd()

    def job(words):
        seen.append((words, compiled._policy, os.getcwd() == here))
        return 130 if interrupted and len(seen) == 2 else 0

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("treecast.cli.main", job)
    status, out, err = ask("warm-up")
    assert seen == [(words, "compile", False) for words in (COMMANDS[:2] if interrupted else COMMANDS)]
    assert (status, out, err) == ((130, "", "") if interrupted else (0, f"compiled into {tmp_path}\n", ""))
    assert os.getcwd() == here
    assert compiled._policy != "compile"
