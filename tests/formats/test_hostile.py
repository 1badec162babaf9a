"""No file makes the loader do anything but return a schedule or raise a TreecastError of one line."""

import hashlib
import json
import random
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import arbitrary
from treecast.errors import FormatError, TreecastError
from treecast.files import formats
from treecast.files.formats import native
from treecast.plans import plan
from treecast.verification.verifier import verify

TEXT, BINARY = b"treecast 2\n", native.MAGIC + b"2\r\n"

HEAD = """treecast 1
network {network}
collective {collective}
{more}rows {count}
"""


def written(*rows, network="star:4", collective="broadcast", more=""):
    """A file as people write it, without a digest."""
    head = HEAD.format(network=network, collective=collective, more=more, count=len(rows))
    return (head + "".join(f"{row}\n" for row in rows)).encode()


def refusal(data):
    """The message with which a file is refused, by the format or by the verifier; None when it is taken."""
    try:
        schedule = formats.decode(data)
        if schedule.network.nodes <= 5040 and schedule.collective.messages <= 1000:
            verify(schedule)
    except TreecastError as error:
        message = str(error)
        assert message
        assert message.isprintable()
        assert len(message) < 600
        return message
    return None


@given(st.binary(), st.sampled_from([b"", TEXT, BINARY, TEXT + b"digest ", TEXT + b"network "]))
def test_random_bytes(data, start):
    assert refusal(start + data)


@given(st.binary(), st.binary(max_size=8))
def test_random_bytes_with_a_right_digest(data, size):
    body = BINARY + size + data
    assert refusal(body + hashlib.sha256(body).digest())


@given(st.text(), st.text())
def test_random_characters_with_a_right_digest(head, rows):
    body = f"network star:3\ncollective broadcast\n{head}\nrows 1\n{rows}\n".encode(errors="replace")
    digest = hashlib.sha256(body).hexdigest().encode()
    refusal(TEXT + b"digest sha256:" + digest + b"\n" + body)


NUMBERS = [
    "0",
    "1",
    "2",
    "5",
    "-1",
    "00",
    "32767",
    "32768",
    "2147483647",
    "2147483648",
    "9" * 10,
    "9" * 18,
    "1" + "0" * 17,
]
NUMBERS += ["9" * 19, "9" * 5000, "1e3", "٣", "²", "+1", "", "0x1", "1_0"]
WORDS = [
    "star:4", "star:15", "star:16", "star:0", "star:x", "hypercube:40", "hypercube:0", "mesh:3x4", "mesh:" + "1x" * 99 + "2",
    "mesh:" + "9" * 400, "torus:1", "ring:2", "path:1", "tree:1,9", "tree:0,0", "file:", "file:/", "file:/no/such.graphml",
    "file:\x00", "broadcast", "allgather", "alltoall", "yes", "no", "all-port", "one-port,half", "1234", "2134", "1,2,3,4",
    "0b0101", "0,0", "steps=1 transmissions=1", "steps=1", "transmissions=9 steps=9 steps=9", "\x1b[2J", "\u2028", "é" * 70,
    "\ufeff", "#", "# x", "-", ">", "rows", "digest",
]  # fmt: skip
LINES = [
    "orbit yes", "orbit no", "copies 3", "copies 32767", "messages 2147483647", "messages 9", "model whispering",
    "root 4321", "claims steps=0 transmissions=0", "rows 0", "rows 1", "", "# a comment", "digest sha256:0",
    "0+1 1234>2134 port=0 tree=0 0", "0+2 1234>2134 port=-1 0-1", "0+1 1234>2134 tree=32767 0", "0+1 1234>1234 0",
    "2147483647+1 1234>2134 port=0 0", "0+2147483647 1234>2134 port=0 0-2147483646", "0+1 1234>2134 5-3",
    "0+1 1234>2134 0,0", "0+1 1234>2134 ,", "0+1 1234>2134 -", "0+1 1234>2134 100000000000000000",
]  # fmt: skip
TOKEN = re.compile(r"[^\s+>=,-]+")


@st.composite
def edited(draw):
    """A written file, edited by somebody careless."""
    data = native.encode_text(draw(arbitrary(orbit=draw(st.booleans())))).decode()
    lines = data.splitlines()
    del lines[1]  # else the digest would be all that it tests
    for _ in range(draw(st.integers(1, 4))):
        i = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["delete", "double", "swap", "token", "put in", "cut"])):
            case "delete" if len(lines) > 1:
                del lines[i]
            case "double":
                lines.insert(i, lines[i])
            case "swap":
                j = draw(st.integers(0, len(lines) - 1))
                lines[i], lines[j] = lines[j], lines[i]
            case "put in":
                lines.insert(i, draw(st.sampled_from(LINES)))
            case "cut":
                lines[i] = lines[i][: draw(st.integers(0, len(lines[i])))]
            case _:
                tokens = list(TOKEN.finditer(lines[i]))
                if tokens:
                    token = draw(st.sampled_from(tokens))
                    new = draw(st.sampled_from(NUMBERS + WORDS))
                    lines[i] = lines[i][: token.start()] + new + lines[i][token.end() :]
    rows = draw(st.sampled_from(["as said", "as there are"]))
    if rows == "as there are":  # so that more than the wrong number of rows is met
        start = next((i for i, line in enumerate(lines) if line.startswith("rows ")), None)
        if start is not None:
            lines[start] = f"rows {sum(bool(x.strip()) and not x.startswith('# ') for x in lines[start + 1 :])}"
    return "\n".join(lines).encode(errors="replace") + draw(st.sampled_from([b"\n", b"", b"\r\n"]))


@given(edited())
def test_edited_files(data):
    refusal(data)


GOOD = ["0+1 1234>2134 port=0 tree=0 0"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no treecast file"),
        (b"treecast 1", "no treecast file"),
        (b"treecast 3\nnetwork star:4\n", "format version 3: this treecast reads 1 and 2"),
        (b"treecast\r\nnetwork star:4\r\n", "no treecast file"),
        (b"treecast 1\n\xff\n", "not UTF-8"),
        (b"treecast 1\nnetwork star:4\nrows 0", "line 3: the last line is cut off"),
        (b"treecast 1\nnetwork star:4\ncollective broadcast\n", "no line 'rows N'"),
        (b"treecast 1\ncollective broadcast\nrows 0\n", "does not say its network"),
        (b"treecast 1\nnetwork star:4\nrows 0\n", "does not say its collective"),
        (b"treecast 1\nnetwork star:4\nnetwork star:5\nrows 0\n", "line 3: 'network star:5' is none of the lines"),
        (written(*GOOD, more="colour red\n"), "line 4: 'colour red' is none of the lines"),
        (written(*GOOD, more="rooot 0\n"), "did you mean 'root'"),
        (written(*GOOD, network=""), "network '' cannot stand in a file"),
        (written(*GOOD, network="mesh:" + "1x" * 3000 + "1"), "cannot stand in a file"),
        (written(*GOOD, network="star:99"), "star:99 is no network"),
        (written(*GOOD, network="file:/no/such.graphml"), "cannot read the network '/no/such.graphml'"),
        (written(*GOOD, collective="telepathy"), "is no collective"),
        (written(*GOOD, collective="allgather", more="root 1234\n"), "allgather has no root"),
        (written(*GOOD, more="root 1235\n"), "1235 is no node of star:4"),
        (written(*GOOD, more="messages 0\n"), "messages is a whole number from 1 to 2147483647, not '0'"),
        (written(*GOOD, more="messages 2147483648\n"), "messages is a whole number from 1 to 2147483647, not '2147483648'"),
        (written(*GOOD, more="messages -1\n"), "messages is a whole number"),
        (written(*GOOD, more="messages ٣\n"), "messages is a whole number"),
        (written(*GOOD, more="copies 0\n"), "copies must be"),
        (written(*GOOD, more="copies 32768\n"), "copies is a whole number from 0 to 32767"),
        (written(*GOOD, more="model quantum\n"), "'quantum' is no model"),
        (written(*GOOD, more="orbit maybe\n"), "orbit is yes or no"),
        (written(*GOOD, more="orbit yes\n"), "needs a network with a symmetry"),
        (written("0+1 0,0>0,1 0", network="mesh:2x2", collective="allgather", more="orbit yes\n"), "with a symmetry"),
        (written("0+1 0.0.0>edge-0.0 0", network="fat-tree:4", collective="alltoall", more="orbit yes\n"), "needs 'symmetry P"),
        (written(*GOOD, more="symmetry P+1\n"), "no line 'symmetry"),
        (written(*GOOD, more="claims everything\n"), "claims are written"),
        (written(*GOOD, more="claims steps=1 transmissions=x\n"), "transmissions is a whole number"),
        (written(*GOOD).replace(b"rows 1", b"rows 2"), "the file has 1 rows, not '2'"),
        (written(*GOOD).replace(b"rows 1", b"rows many"), "the file has 1 rows, not 'many'"),
        (written("0+1 1234 2134 0"), "line 5: '0\\+1 1234 2134 0': a row is written"),
        (written("0+1 1234>2134 port=0 tree=0"), "a row is written"),
        (written("0+1 1234>2134 port=0 tree=-1 0"), "a row is written"),
        (written("0+1  1234>2134 port=0 0"), "a row is written"),
        (written("-1+1 1234>2134 0"), "a row is written"),
        (written("0+1 1234>2135 port=0 0"), "line 5: .* 2135 is no node of star:4"),
        (written("0+1 1234>24 port=0 0"), "24 is no node of star:4"),
        (written("0+1 1234>99999999999999999999999999 0"), "is no node of star:4"),
        (written("0+1 1234>2134 port=40000 0"), "column port holds a number outside"),
        (written("0+1 1234>2134 tree=40000 0"), "column tree holds a number outside"),
        (written("4000000000+1 1234>2134 0"), "column step holds a number outside"),
        (written("0+0 1234>2134 0"), "column steps holds a number outside"),
        (written("0+2 1234>2134 0"), "a row sends 1 chunks in 2 steps"),
        (written("0+1 1234>2134 1"), "a payload names chunk 1; chunks go from 0 to 0"),
        (written("0+1 1234>2134 100000000000000000"), "a payload names chunk 100000000000000000"),
        (written("0+1 1234>2134 0-999999999999999999"), "a payload names chunk 999999999999999999"),
        (written("0+1 1234>2134 3-1", more="messages 9\n"), "goes from a first chunk"),
        (written("0+1 1234>2134 0-5,3", more="messages 9\n"), "holds chunk 3 twice"),
        (written("0+1 1234>2134 0,,1", more="messages 9\n"), "are no chunks"),
        (written("0+1 1234>2134 0-1-2", more="messages 9\n"), "are no chunks"),
        (written("0+1 1234>2134 ,"), "are no chunks"),
    ],
)  # fmt: skip
def test_files_that_say_what_cannot_be(data, says):
    message = refusal(data)
    assert message
    assert re.search(says, message)


@pytest.mark.parametrize(
    "data",
    [
        written(),
        written(*GOOD),
        written(*GOOD, more="messages 2147483647\n"),
        written("0+2000000000 1234>2134 port=0 0-1999999999", more="messages 2000000000\n"),
        written("0+1 1234>2134 port=99 0"),
        written("0+1 1234>2134 port=-1 0"),
        written("0+1 1234>1234 0"),
        written("0+1 1234>4321 0"),
        written("0+1 1234>2134 tree=32767 0"),
        written(*GOOD, more="copies 3\n"),
        written(*GOOD, more="claims steps=999999999999999999 transmissions=0\n"),
        written(*GOOD, more="\n#\n# a comment\n\n"),
        written("0+1 0>1 0", network="star:2"),
        written("0+1 0b0>0b1 port=0 0", network="hypercube:1", collective="allgather", more="orbit yes\n"),
        written(network="hypercube:0"),
    ],
)  # fmt: skip
def test_files_that_are_read_and_then_judged(data):
    schedule = formats.decode(data)
    report = verify(schedule)
    assert formats.decode(formats.encode(schedule)) == schedule
    assert report.holds is (schedule.network.nodes <= 2)


def test_a_label_that_is_also_a_number_is_a_label(tmp_path):
    path = tmp_path / "net.edges"
    path.write_text("2 1\n1 0\n0 2\n")
    schedule = formats.decode(written("0+1 1>0 0", "0+1 1>2 0", network=f"file:{path}", more="root 1\n"))
    assert verify(schedule)
    assert schedule.collective.root == schedule.network.node("1") == 1
    without = formats.decode(written(network=f"file:{path}"))
    assert without.collective.root == 0
    assert without.network.label(0) == "2"


def test_the_port_that_is_left_out_is_looked_up():
    said = written("0+1 1234>2134 port=0 0", "0+1 1234>4231 port=2 0")
    left_out = written("0+1 1234>2134 0", "0+1 1234>4231 0")
    assert formats.decode(said) == formats.decode(left_out)
    assert formats.decode(written("0+1 1234>4321 0")).rows.port.tolist() == [-1]


# --- the binary format, with a right digest ---


def packed(header, *arrays, size=None):
    """A binary file with a right digest, whatever stands in it."""
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    size = len(header) if size is None else size
    body = BINARY + (size % 2**64).to_bytes(8, "little") + header + b"".join(a.tobytes() for a in arrays)
    return body + hashlib.sha256(body).digest()


HEADER = {
    "network": "star:3", "collective": "broadcast", "rows": "1", "payloads": "1", "ranges": "1", "node_bytes": "4",
}  # fmt: skip


def columns(step=0, steps=1, src=0, dst=2, port=0, tree=0, payload=0, start=(0, 1), first=(0,), stop=(1,), wide="<i4"):
    four, two = np.dtype("<i4"), np.dtype("<i2")
    kinds = {"step": four, "steps": four, "src": np.dtype(wide), "dst": np.dtype(wide), "port": two, "tree": two}
    given = {"step": step, "steps": steps, "src": src, "dst": dst, "port": port, "tree": tree}
    arrays = [np.array([value], kinds[name]) for name, value in given.items()]
    return [*arrays, np.array([payload], four), *(np.array(table, "<i8") for table in (start, first, stop))]


def test_such_a_file_can_be_read():
    for wide, size in (("<i4", "4"), ("<i8", "8")):
        schedule = formats.decode(packed(HEADER | {"node_bytes": size}, *columns(wide=wide)))
        assert (len(schedule), schedule.rows.src.dtype, schedule.rows.dst.tolist()) == (1, np.int32, [2])


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (b"", "header cannot be read"),
        (b"\xff\xfe", "header cannot be read"),
        (b"{" * 100_000, "header cannot be read"),
        (b"[" * 100_000 + b"]" * 100_000, "header cannot be read"),
        (b"9" * 10_000, "header"),
        (b"[]", "header is no table"),
        (b"null", "header is no table"),
        (b"NaN", "header is no table"),
        ({}, "header is no table"),
        (HEADER | {"rows": 1}, "header is no table"),
        (HEADER | {"copies": None}, "header is no table"),
        (HEADER | {"copies": {"copies": {}}}, "header is no table"),
        (HEADER | {"colour": "red"}, "header is no table"),
        ({word: HEADER[word] for word in HEADER if word != "ranges"}, "header is no table"),
        ({word: HEADER[word] for word in HEADER if word != "network"}, "does not say its network"),
        (HEADER | {"network": "star:3\n"}, "cannot stand in a file"),
        (HEADER | {"builder": "\ud800"}, "cannot stand in a file"),
        (HEADER | {"builder": "\x1b[2J"}, "cannot stand in a file"),
        (HEADER | {"node_bytes": "2"}, "columns are not as long"),
        (HEADER | {"node_bytes": "8"}, "columns are not as long"),
        *((HEADER | {name: count}, "columns are not as long|whole number")
          for name in ("rows", "payloads", "ranges")
          for count in ("0", "2", "-1", "1.0", "2147483648", "281474976710656", "9223372036854775808", "9" * 30)),
    ],
)  # fmt: skip
def test_binary_headers_that_say_what_cannot_be(header, says):
    message = refusal(packed(header, *columns()))
    assert message
    assert re.search(says, message)


@pytest.mark.parametrize("size", [0, 1, 10**6, 2**31, 2**63 - 1, 2**63, 2**64 - 1])
def test_a_header_of_another_length_than_said(size):
    assert refusal(packed(HEADER, *columns(), size=size))


@pytest.mark.parametrize(
    "wrong",
    [
        {"step": -1}, {"steps": 0}, {"steps": -1}, {"steps": 2}, {"src": -1}, {"dst": 6}, {"port": -2}, {"tree": -2},
        {"payload": 1}, {"payload": -1}, {"first": [-1]}, {"stop": [2]}, {"stop": [0]}, {"first": [1]}, {"start": [0, 0]},
        {"start": [1, 1]}, {"start": [0, 2]}, {"start": [-1, 1]}, {"start": [0, -1]}, {"start": [0, 2**62]},
        {"first": [-(2**63)], "stop": [2**63 - 1]}, {"stop": [2**63 - 1]},
    ],
)  # fmt: skip
def test_binary_columns_that_cannot_be(wrong):
    assert refusal(packed(HEADER, *columns(**wrong)))


def test_beginnings_of_payloads_that_grow_by_overflow():
    header = HEADER | {"payloads": "5", "ranges": "1"}
    start = [0, 2**62, -(2**63), -(2**62), 0, 1]
    assert "outside the table" in refusal(packed(header, *columns(start=start)))


def test_bytes_behind_the_columns():
    assert "columns are not as long" in refusal(packed(HEADER, *columns(), np.zeros(1, np.uint8)))


# --- files ---


def test_what_is_no_file_of_ours_is_not_read_to_its_end():
    with pytest.raises(FormatError, match="does not begin like one"):
        formats.read("/dev/zero")


@pytest.mark.parametrize("name", ["missing.tc", ".", "no/such/folder.tc", "\0", "a" * 5000])
def test_files_that_cannot_be_read(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for load in (formats.load, formats.read):
        with pytest.raises(FormatError, match="cannot be read"):
            load(name)


def test_a_wrong_schedule_is_read_but_not_loaded(tmp_path):
    path = tmp_path / "wrong.tc"
    path.write_bytes(written(*GOOD))
    assert len(formats.read(path)) == 1
    with pytest.raises(FormatError, match=r"wrong.tc' holds a schedule that is wrong: .* never receives chunk 0"):
        formats.load(path)


@pytest.mark.slow
def test_binary_files_with_changed_numbers_and_a_right_digest():
    data = formats.encode(plan("broadcast", "star:3", messages=3, copies=2), to="binary")[:-32]
    noise = random.Random(1)
    for i in range(28, len(data)):
        for value in {0, 255, noise.randrange(256)}:
            body = data[:i] + bytes([value]) + data[i + 1 :]
            refusal(body + hashlib.sha256(body).digest())
