"""The table of messages: what is written is read again, and no message of it can be changed unnoticed."""

import csv
import io
from dataclasses import replace
from random import Random

import pytest

import treecast
from tests.interpreters.jobs import JOBS, planned
from treecast.errors import FormatError, TreecastError
from treecast.files import formats
from treecast.files.programs.messages import messages_of
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan
from treecast.verification.verifier import verify


def said(messages):
    """What a list of messages says, needs and all."""
    columns = (messages.step, messages.src, messages.dst, messages.port, messages.tree, messages.place)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    return [(*row, messages.ranges(m), messages.needs_of(m)) for m, row in enumerate(rows)]


@pytest.mark.each(5)
@pytest.mark.parametrize(("kind", "spec"), JOBS)
def test_messages_are_read_again_and_verified(kind, spec):
    schedule = planned(kind, spec)
    again = formats.decode(formats.encode(schedule, "csv", size=10_000))
    assert said(messages_of(again)) == said(messages_of(schedule))
    assert verify(again).holds
    assert again.collective == schedule.collective
    assert formats.encode(again, "csv", size=10_000) == formats.encode(schedule, "csv", size=10_000)


def test_equal_rows_come_back_where_rows_are_messages():
    schedule = formats.decode(formats.encode(plan("broadcast", "torus:3x3", messages=5), "csv"))
    assert formats.decode(formats.encode(schedule, "csv")) == schedule
    combined = plan("scatter", "mesh:2x4", messages=2, model="wormhole")
    assert formats.decode(formats.encode(combined, "csv")).rows == combined.rows
    told = plan("gatherv", "tree:2,2", lengths=2, model="bufferless")
    assert any(len(ranges) == 0 for *_, ranges, _ in said(messages_of(told)))


def test_any_reader_of_tables_reads_it():
    schedule = plan("allgather", "torus:3x3", messages=2)
    text = formats.encode(schedule, "csv", size=180).decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    assert len(rows) == schedule.transmissions
    where = network("torus:3x3")
    for row in rows:
        assert where.node(row["src_label"]) == int(row["src"])
        assert int(where.neighbor(int(row["src"]), int(row["port"]))) == where.node(row["dst_label"])
        assert row["bytes"] == "10"


def lines_of(text):
    return text.splitlines(keepends=True)


def test_a_message_left_out_or_twice_is_noticed():
    text = formats.encode(plan("alltoall", "ring:4"), "csv").decode()
    lines = lines_of(text)
    first = next(i for i, line in enumerate(lines) if line.startswith("step,")) + 1
    for i in range(first, len(lines)):
        for changed in ([*lines[:i], *lines[i + 1 :]], [*lines[: i + 1], *lines[i:]]):
            assert not verify(formats.decode("".join(changed).encode())).holds


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (
            b"step,src,dst,src_label,dst_label,port,tree,chunks,bytes\n",
            "needs lines '# network …' and '# collective …'",
        ),
        (b"# network ring:4\n", "has a line step,src"),
        (b"# network ring:4\n# network ring:4\n", "line 2: .* each word once"),
        (b"# network ring:4\n# colour red\n", "line 2: '# colour red' is neither"),
        (b"# network ring:4\nhello\n", "line 2: 'hello' is neither"),
        (b"# network \xff\n", "not UTF-8"),
    ],
)
def test_what_is_no_table_is_refused(data, why):
    with pytest.raises(FormatError, match=why):
        formats.decode(data)


def test_a_wrong_line_is_named():
    head = "# network ring:4\n# collective broadcast\nstep,src,dst,src_label,dst_label,port,tree,chunks,bytes\n"
    for line, why in (
        ("0,0,1,0,1,0,0,0\n", "line 4: it has 8 cells, and a message the columns step,src,dst"),
        ("0,0,1,0,2,0,0,0,5\n", "line 4: node 1 is 1, not 2"),
        ("0,0,9,0,9,0,0,0,5\n", "line 4: 9 is no node of ring:4"),
        ('0,0,1,"0,1,0,0,0,5\n', "line 4: unexpected end of data"),
        ("0,0,1,0,1,0,0,zero,5\n", "'zero' are no chunks"),
        ("zero,0,1,0,1,0,0,0,5\n", "line 4: 'zero' is no number"),
    ):
        with pytest.raises(FormatError, match=why):
            formats.decode((head + line).encode())


def test_columns_stand_in_any_order_and_some_may_be_left_out():
    """As data frames write them: reordered, fewer, with an index of their own, and empty where nothing is said."""
    text = formats.encode(plan("allgather", "torus:3x3", messages=2), "csv", size=180).decode()
    schedule = formats.decode(text.encode())
    job = [line for line in text.splitlines() if line.startswith("#")]
    rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))

    def again(names, change=lambda row: row):
        body = [
            ",".join(str(cell) for cell in change([row.get(name, k) for name in names])) for k, row in enumerate(rows)
        ]
        return formats.decode("\n".join([*job, ",".join(names), *body]).encode())

    assert again(["chunks", "dst", "src", "step", "tree"]) == schedule
    assert again(["", "tree", "bytes", "step", "port", "src", "dst", "chunks"]) == schedule
    assert again(list(rows[0]), lambda cells: [*cells[:3], "", "", "", *cells[6:8], ""]) == schedule
    for names, why in (
        (["step", "src", "dst"], "there is no column chunks"),
        (["stp", "src", "dst"], "did you mean 'step'"),
    ):
        with pytest.raises(FormatError, match=why):
            again(names)


def test_it_is_verified_from_a_file(tmp_path):
    schedule = plan("broadcast", "star:4", messages=3, copies=2)
    formats.save(schedule, tmp_path / "plan.csv")
    report = verify(formats.load(tmp_path / "plan.csv"))
    assert report.holds
    assert report.steps == schedule.steps


def test_sparing_schedules_and_graphs_in_memory_are_refused():
    with pytest.raises(FormatError, match="leave out chunks that they have sent or heard"):
        formats.encode(plan("broadcast", "hypercube:3", model="whispering"), "csv")


def test_models_are_kept():
    schedule = plan("broadcast", "path:3", messages=2)
    half = replace(schedule, model=model("all-port,half"))
    assert formats.decode(formats.encode(half, "csv")).model == half.model
    assert io.StringIO(formats.encode(half, "csv").decode()).readline() == "# network path:3\n"


@pytest.mark.parametrize("seed", range(4))
def test_damaged_tables_are_refused_in_one_sentence(seed):
    random, said = Random(seed), list[str]()
    data = formats.encode(plan("scatter", "mesh:2x3", messages=2), "csv", size=600)
    for _ in range(300):
        broken = bytearray(data)
        for _ in range(random.randint(1, 4)):
            at = random.randrange(len(broken))
            broken[at : at + random.randint(0, 2)] = random.choice(
                [b"", b"9", b"-", b",", b'"', b"\n", b"\xff", b"\x00", b"99999999999", b"#"]
            )
        try:
            verify(formats.decode(bytes(broken)))
        except TreecastError as error:
            said.append(str(error))
    assert len(said) > 100
    assert not [sentence for sentence in said if "\n" in sentence]


@pytest.mark.parametrize("shuffled", [False, True])
def test_findings_name_the_lines_of_the_file(tmp_path, shuffled):
    rows = ["0,0,1,0", "0,1,2,1", "0,2,3,1", "0,3,0,3", "1,0,1,3", "1,1,2,0", "1,2,3,2", "0,2,3,2"]
    rows = rows[::-1] if shuffled else rows
    path = tmp_path / "wrong.csv"
    path.write_text("\n".join(["# network ring:4", "# collective allgather", "step,src,dst,chunks", *rows]) + "\n")
    report = treecast.verify(path)
    line = 4 + rows.index("0,2,3,1")
    assert f"line {line}: 2 > 3 at step 0 carries chunk 1" in str(report.violations)
    with pytest.raises(FormatError, match=r"line \d+: 2 > 3"):
        treecast.load(path)
    text = tmp_path / "wrong.tc"
    body = [f"{row[0]}+1 {row[2]}>{row[4]} {row[6]}" for row in rows]
    text.write_text(
        "\n".join(["treecast 2", "# mine", "network ring:4", "collective allgather", "rows 8", *body]) + "\n"
    )
    assert f"line {line + 2}: 2 > 3 at step 0 carries chunk 1" in str(treecast.verify(text).violations)


@pytest.mark.slow
def test_every_changed_cell_is_noticed():
    """Every cell of every message, raised by one, emptied or filled with nonsense, is refused or breaks a rule.

    Labels, ports and bytes may be empty: they say nothing new.
    """
    schedule = plan("broadcast", "star:3", messages=2)
    text = formats.encode(schedule, "csv", size=20).decode()
    lines = lines_of(text)
    first = next(i for i, line in enumerate(lines) if line.startswith("step,")) + 1
    tried, rows = 0, formats.decode(text.encode()).rows
    for i in range(first, len(lines)):
        cells = lines[i].rstrip("\n").split(",")
        for c in range(9):
            for other in (str(int(cells[c]) + 1) if cells[c].isdigit() else "x", "", "x", "-2", "9" * 30):
                changed = [*lines[:i], ",".join([*cells[:c], other, *cells[c + 1 :]]) + "\n", *lines[i + 1 :]]
                tried += 1
                try:
                    again = formats.decode("".join(changed).encode())
                except TreecastError:
                    continue
                again = replace(again, claims=None)
                # a message of the last step, or of another tree, may be as right: then the verifier proves it
                said_before = other == "" and c in (3, 4, 5, 8) and again.rows == rows
                assert said_before or not verify(again).holds or c in (0, 6), (cells, c, other)
    assert tried > 400
