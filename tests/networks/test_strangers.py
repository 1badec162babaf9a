"""Files from strangers: read, or refused in one line, in two seconds and 512 MiB."""

import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.memory import peak_kib
from tests.networks.printed import FILES
from treecast.errors import NetworkError
from treecast.networks.wired import file


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("a.yaml", "arch: &a {0: x}\nethernet_connections: *a", "line 1 has an anchor or alias"),
        ("b.yaml", "ethernet_connections: !!python/object:os.system x", "line 1 has the tag"),
        ("c.yaml", "ethernet_connections: " + "[" * 40 + "]" * 40, "is more than 32 levels deep"),
        ("d.json", '{"hosts": [{"ssh": "a", "ssh": "b"}]}', "it says 'ssh' twice"),
        ("e.json", '{"hosts": [{"ssh": "a", "ips": NaN}]}', "it has NaN, which is no number"),
        ("f.json", '{"hosts": [{"ssh": "a", "x": ' + "[" * 70 + "]" * 70 + "}]}", "it is more than 64 levels deep"),
        ("g.xml", '<!DOCTYPE a [<!ENTITY e "x">]><system>&e;</system>', "declares"),
        ("h.xml", '<!DOCTYPE a SYSTEM "file:///etc/passwd"><system/>', "it declares the document type 'a'"),
        ("i.conf", "SwitchName=s0 Nodes=" + "n" * 70_000, "line 1 has 70,020 characters"),
        ("j.dot", "graph {" + "{" * 70, "more than 64 subgraphs"),
        ("k.dot", "graph { a -> b }", "-> joins nodes in a graph: write --"),
        ("l.textproto", "mesh_descriptors { name: }", "line 1: name has no value"),
        ("m.textproto", "mesh_descriptors {" * 40, "more than 32 levels deep"),
    ],
)
def test_attacks_are_refused_in_one_line(tmp_path: Path, name: str, text: str, wrong: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(NetworkError, match=wrong) as caught:
        treecast.network(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_no_line_hangs_a_reader() -> None:
    """A pattern that can divide a line in many ways takes minutes on one that it does not take in the end."""
    code = """
from contextlib import suppress
from treecast.networks.reading.frames import hosts_in, looks_like, unframed
from treecast.networks.reading.registry import HEAD, readers
known = readers()
pieces = ["#", "/", "/**/", "/*", " ", "\\t", "\\n", ":", "a: ", "a@", "=", "= ", "-", " -- ", ",", "==(", "|", "| "]
pieces += ['"a', "{", "[", "creator ", "n1: ", "[a@b ", "1 ", "1[ ] ==(", "5 5\\n"]
starts = ["", "a", "GPU0 ", "GPU0 a\\n", "- ", '{"a": ', "5", "=", "a\\n", "a --"]
for text in (start + piece * (HEAD // len(piece)) + "\\nb x" for start in starts for piece in pieces):
    for each in known.values():
        each.recognises(text.encode())
    looks_like(unframed(text.encode()))
    hosts_in(text.encode())
    with suppress(ValueError):
        known["links"].read(text.encode())
for kind, text in {
    "mlx": '{"a' + '\\\\"' * HEAD,
    "rocm-smi": "=" * 60_000 + "a",
    "rocm-smi ": "= a" + " " * 60_000 + "b",
    " rocm-smi": "GPU0" + " " * 60_000,
}.items():
    with suppress(ValueError):
        known[kind.strip()].read(text.encode())
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=100).returncode == 0


_PIECES = [b"[", b"]", b"{", b"}", b"<", b'"', b"*a", b"&a ", b"\xff\xfe", b"\0", b"-1", b"1e999", b"\n", b"9" * 20]
_ASKED = ("", " with part 2", " with whole yes", " with links all", " with undirected yes", " with ranks hcas")


def edited(data: bytes, whole: Callable[[int, int], int]) -> bytes:
    """Return bytes of which some, or lines, are altered, left out, doubled, swapped or cut off; ``whole`` draws numbers."""
    for _ in range(whole(1, 3)):
        at, length, kind = whole(0, len(data)), whole(0, 60), whole(0, 7)
        if kind < 4:
            some = data[at : at + length]
            piece = [_PIECES[whole(0, len(_PIECES) - 1)], b"", some * 2, some[::-1]][kind]
            data = data[:at] + piece + data[at + length :]
        elif kind == 4:
            data = data[:at]
        elif kind == 5:  # a number becomes huge
            data = data[:at] + re.sub(rb"[0-9]+", lambda found: found[0] * 8, data[at:], count=1)
        else:
            lines = data.split(b"\n")
            one, other = whole(0, len(lines) - 1), whole(0, len(lines) - 1)
            if kind == 6:
                lines[one], lines[other] = lines[other], lines[one]
            else:
                lines[one : one + whole(0, 1)] = [lines[other]] * whole(0, 2)
            data = b"\n".join(lines)
    return data


def check_one_line(path: Path, end: str) -> None:
    """Check that a file is a network, or is refused in one line."""
    said = ""
    try:
        file(f"{path}{end}")
    except NetworkError as error:
        said = str(error)
    assert "\n" not in said


@given(st.data())
def test_edited_files_are_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(FILES)))
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(edited(FILES[name].encode(), lambda low, high: data.draw(st.integers(low, high))))
    check_one_line(path, data.draw(st.sampled_from(_ASKED)))


MORE = sorted(path for path in Path(os.environ.get("TREECAST_FILES", os.devnull)).rglob("*.*") if path.is_file())


"""Files of other machines: ``TREECAST_FILES=FOLDER make test-long ARGS="-k ten_thousand"`` edits these, too."""


@pytest.mark.long
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
