"""Files from strangers: read, or refused in one line, in two seconds and 512 MiB."""

import os
import random
import time
from pathlib import Path

import pytest

from tests.memory import peak_kib
from tests.networks.printed import FILES
from tests.networks.test_strangers import _ASKED, check_one_line, edited

MORE = sorted(path for path in Path(os.environ.get("TREECAST_FILES", os.devnull)).rglob("*.*") if path.is_file())
"""Files of other machines: ``TREECAST_FILES=FOLDER make test-long ARGS="-k ten_thousand"`` edits these, too."""


@pytest.mark.parametrize("source", [*sorted(FILES), *MORE], ids=str)
def test_ten_thousand_edits(tmp_path: Path, source: str | Path) -> None:
    """Each takes two seconds of the processor at most, and 512 MiB with all that the process had before."""
    whole = source.read_bytes() if isinstance(source, Path) else FILES[source].encode()
    path, chance, before = tmp_path / Path(source).name, random.Random(str(source)), peak_kib()
    for _ in range(10_000):
        path.write_bytes(edited(whole, chance.randint))
        began = time.process_time()
        check_one_line(path, chance.choice(_ASKED))
        assert time.process_time() - began < 2, path.rename(f"{path}.slow")
    assert peak_kib() <= max(before, 512 * 1024)
