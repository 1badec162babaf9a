"""Files of strangers: nothing of theirs runs, nothing grows, and whatever is no record is refused or harmless."""

import gzip
import os
import pickle
import random
import struct
from collections import OrderedDict

import numpy as np
import pytest

import treecast
from tests.records.jobs import make_job, write
from treecast.files.records.plain import Plain


def load(data):
    found = Plain(data)
    return found.plain(found.root)


class Runs:
    """It makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def number(value):
    return struct.pack("<Q", value)


HOSTILE = {
    "a set": pickle.dumps({1, 2}, 4),
    "an array": pickle.dumps(np.zeros(3), 2),
    "a class": pickle.dumps(OrderedDict(a=1), 2),
    "a place in the memo far away": b"\x80\x02}r\xff\xff\xff\x7f.",
    "a text longer than the file": b"\x80\x02X\xff\xff\xff\x7fabc.",
    "a text of 2^62 bytes": b"\x80\x04\x8d" + number(1 << 62) + b"x.",
    "bytes of 2^60": b"\x80\x04\x8e" + number(1 << 60) + b"x.",
    "a frame of 2^60": b"\x80\x04\x95" + number(1 << 60) + b"}",
    "a number of 255 bytes": b"\x80\x02\x8a\xff" + b"\1" * 255 + b".",
    "an extension": b"\x80\x02\x82\x01.",
    "a persistent name": b"\x80\x02Pabc\n.",
    "a persistent object": b"\x80\x02K\x01Q.",
    "protocol 0": b"(S'x'\nios\nsystem\n.",
    "items of nothing": b"\x80\x02u.",
    "a memo that is empty": b"\x80\x02h\x05.",
    "a state": b"\x80\x02}}b.",
    "no end": pickle.dumps({}, 2)[:-1],
    "nothing": b"",
    "a program": b"\x7fELF" + bytes(100),
    "deep JSON": b"[" * 200_000,
    "a long number": b'{"a":' + b"9" * 6000 + b"}",
    "broken gzip": b"\x1f\x8b" + bytes(40),
    "packed nothing": gzip.compress(b"\0" * (1 << 20)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_is_no_plain_data_is_refused_in_one_line(name):
    with pytest.raises(treecast.FormatError) as caught:
        load(HOSTILE[name])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("protocol", range(6))
def test_no_code_of_a_file_runs(tmp_path, protocol):
    mark = tmp_path / "ran"
    with pytest.raises(treecast.FormatError):
        load(pickle.dumps({"entries": [Runs(mark)]}, protocol))
    assert not mark.exists()


@pytest.mark.parametrize("protocol", range(2, 6))
def test_plain_data_comes_as_it_was(protocol):
    data = {
        "a": [1, -1, 1 << 40, -(1 << 62), 1.5, None, True, "ä" * 300],
        "b": ((), (1,), (1, 2), (1, 2, 3), (1,) * 9),
        "c": {},
    }
    data["d"] = data["a"]
    assert load(pickle.dumps(data, protocol)) == data


def doubled(levels):
    shape = [1]
    for _ in range(levels):
        shape = [shape, shape]
    return shape


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("input_sizes", doubled(40)),
        ("input_sizes", [["x"]]),
        ("output_sizes", [[1 << 62]]),
        ("profiling_name", 7),
        ("collective_seq_id", "x"),
        ("record_id", -5),
        ("time_created_ns", 1 << 63),
        ("input_dtypes", [1]),
    ],
)
def test_who_has_a_strange_field_is_named_and_the_others_are_judged(tmp_path, field, value):
    dumps, (odd,) = make_job(0, "stopped")
    other = next(rank for rank in dumps if rank != odd)
    dumps[other]["entries"][0][field] = value
    found = treecast.why(write(tmp_path / "records", dumps), taken=2e9)
    (refused,) = found.refused
    assert f"rank_{other}:" in refused
    assert other not in found.recorded


@pytest.mark.slow
def test_a_thousand_changed_files_are_refused_or_harmless(tmp_path):
    """Any bytes changed, left out or doubled: an answer or an error of ours, and no other."""
    rng = random.Random(7)
    dumps, _ = make_job(0, "stopped", steps=4)
    folder = write(tmp_path / "records", {rank: dumps[rank] for rank in sorted(dumps)[:2]})
    file = sorted(folder.iterdir())[0]
    whole = file.read_bytes()
    answers = 0
    for _ in range(1000):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(len(data))
            kind = rng.randrange(3)
            if kind == 0:
                data[place] = rng.randrange(256)
            elif kind == 1:
                del data[place : place + rng.randrange(1, 40)]
            else:
                data[place:place] = data[place : place + rng.randrange(1, 40)]
        file.write_bytes(data)
        try:
            answers += treecast.why(folder, taken=2e9).ranks > 0
        except treecast.TreecastError:
            continue
    assert answers > 500  # the other file is judged
