"""GOAL files and SimGrid's traces are read and judged: what is written is the same schedule again, and faults are named."""

import random
import re

import pytest

from tests.formats.test_table import said
from tests.interpreters import goal as goal_interpreter
from tests.interpreters import traces as traces_interpreter
from tests.interpreters.jobs import CUT, JOBS, WIRED, planned
from tests.interpreters.memory import WrongError
from treecast.errors import FormatError, TreecastError
from treecast.files import formats
from treecast.files.formats import Told, goal
from treecast.files.formats import simgrid as traces
from treecast.files.formats.registry import exporter_named
from treecast.files.programs.messages import messages_of
from treecast.plans import plan
from treecast.verification.verifier import verify


def as_goal(schedule, **settings):
    return formats.encode(schedule, "goal", **settings)


def as_traces(schedule, **settings):
    """Return the traces of all ranks, one behind the other."""
    files = dict(exporter_named("simgrid").encode(schedule, **settings))
    return b"".join(files[name] for name in files["list.txt"].decode().split())


BOTH = [pytest.param(as_goal, goal, id="goal"), pytest.param(as_traces, traces, id="simgrid")]


@pytest.mark.parametrize(("write", "reader"), BOTH)
@pytest.mark.parametrize(
    ("kind", "spec", "more"),
    [
        ("broadcast", "star:4", {"messages": 5, "copies": 3}),
        ("allgather", "hypercube:3", {"messages": 2, "copies": 2}),
        ("scatter", "mesh:2x4", {"messages": 2, "model": "wormhole"}),
        ("alltoall", "hypercube:3", {"model": "shouting", "messages": 2}),
        ("reduce", "hypercube:3", {"model": "whispering", "messages": 2}),
        ("allreduce", "torus:3x4", {"without_owners": True}),
        ("allreduce", "complete:6", {"model": "whispering", "messages": 2, "without_owners": True}),
        ("allreduce", "tree:2,2", {"model": "shouting", "without_owners": True}),
    ],
)
def test_other_models_and_copies_are_read_again(kind, spec, more, write, reader):
    schedule = plan(kind, spec, **more)
    verdict, schedule_of = reader.judge(write(schedule), Told())
    assert verdict.holds, str(verdict)
    assert said(messages_of(schedule_of())) == said(messages_of(schedule))


# -- files that others write ---------------------------------------------------------------------------------------------


def ranks(*programs):
    """Return a GOAL file in the style of Schedgen from the lines of each rank."""
    parts = [f"num_ranks {len(programs)}", ""]
    for rank, lines in enumerate(programs):
        parts += [f"rank {rank} {{", *lines, "}", ""]
    return "\n".join(parts).encode()


def binomial_broadcast(size=64):
    return ranks(
        [f"l1: send {size}b to 2 tag 1 cpu 0 nic 0", f"l2: send {size}b to 1 tag 1", "l2 irequires l1"],
        [f"l1: recv {size}b from 0 tag 1"],
        [f"l1: recv {size}b from 0 tag 1", "l2: calc 100", f"l3: send {size}b to 3 tag 1", "l2 requires l1", "l3 requires l2"],
        [f"l1: recv {size}b from 2 tag 1"],
    )  # fmt: skip


def ring_allgather(n=4, size=10):
    programs = []
    for rank in range(n):
        lines = []
        for k in range(n - 1):
            lines += [
                f"s{k}: send {size}b to {(rank + 1) % n} tag {k}",
                f"r{k}: recv {size}b from {(rank - 1) % n} tag {k}",
            ]
            lines += [f"s{k} requires r{k - 1}"] if k else []
        programs.append(lines)
    return ranks(*programs)


def doubling_allreduce(d=2, size=8):
    programs = []
    for rank in range(2**d):
        lines = []
        for k in range(d):
            peer = rank ^ 1 << k
            lines += [
                f"s{k}: send {size}b to {peer} tag {k}",
                f"r{k}: recv {size}b from {peer} tag {k}",
                f"c{k}: calc 5",
            ]
            lines += [f"c{k} requires r{k}", *([f"c{k} requires c{k - 1}", f"s{k} requires c{k - 1}"] if k else [])]
        programs.append(lines)
    return ranks(*programs)


def doubling_allgather(d, size=8):
    """Each message carries all that its sender has."""
    programs = []
    for rank in range(2**d):
        lines = []
        for k in range(d):
            peer = rank ^ 1 << k
            lines += [f"s{k}: send {size << k}b to {peer} tag {k}", f"r{k}: recv {size << k}b from {peer} tag {k}"]
            lines += [f"s{k} requires r{j}" for j in range(k)]
        programs.append(lines)
    return ranks(*programs)


LINEAR_SCATTER = b"""0 init
0 send 1 0 100
0 send 2 0 1e+02
0 compute 5e3
0 finalize
1 init 1
1 recv 0 0 100 6
1 finalize
2 init
2 irecv 0 0 100
2 wait 0 2 0
2 finalize
"""
RIGHT = {
    "schedgen's binomial tree": (goal, binomial_broadcast(), Told(collective="broadcast", size=64)),
    "a ring": (goal, ring_allgather(), Told(collective="allgather", size=40, network="ring:4")),
    "recursive doubling": (goal, doubling_allreduce(), Told(collective="allreduce", size=8, network="hypercube:2")),
    "no collective": (goal, ring_allgather(), Told()),
    "no bytes": (goal, ring_allgather(), Told(collective="allgather")),
    "a linear scatter": (traces, LINEAR_SCATTER, Told(collective="scatter", size=300, network="complete:3")),
    "comments": (goal, b"// a\n/* b\n c */\n" + binomial_broadcast().replace(b"rank 1", b"// c\n\nrank 1"), Told()),
}  # fmt: skip


@pytest.mark.parametrize("who", RIGHT)
def test_right_files_in_the_style_of_each_tool_hold(who):
    reader, data, told = RIGHT[who]
    verdict, schedule_of = reader.judge(data, told)
    assert verdict.holds, str(verdict)
    assert ("delivered" in verdict.counts) == (told.collective is not None)
    if told.collective is None:
        with pytest.raises(FormatError, match="does not say the contents of its messages"):
            schedule_of()
    elif told.collective == "allreduce":
        with pytest.raises(FormatError, match="sums are followed in a reduction"):
            schedule_of()
    else:
        assert verify(schedule_of())
        assert schedule_of().collective.kind == told.collective


@pytest.mark.parametrize(("write", "reader"), BOTH)
@pytest.mark.parametrize(
    ("kind", "spec", "more"),
    [
        ("broadcast", "hypercube:3", {}),
        ("broadcast", "path:4", {"messages": 3}),
        ("scatter", "tree:2,2", {"messages": 2}),
        ("gather", "ring:5", {}),
        ("allgather", "ring:4", {"messages": 2}),
        ("alltoall", "hypercube:2", {}),
        ("reduce", "star:4", {}),
    ],
)
def test_contents_that_nobody_says_are_found(kind, spec, more, write, reader):
    """Without its comments a file is a schedule again, in which each chunk goes the first way there is."""
    schedule = plan(kind, spec, **more)
    data = b"".join(line for line in write(schedule).splitlines(True) if not line.startswith((b"//", b"#")))
    root = None if schedule.collective.all_source else schedule.network.label(schedule.collective.root)
    told = Told(network=spec, collective=kind, root=root, messages=schedule.collective.messages)
    verdict, schedule_of = reader.judge(data, told)
    assert verdict.holds
    found = schedule_of()
    assert verify(found)
    assert found.collective == schedule.collective
    assert found.steps <= schedule.steps
    assert found.transmissions <= schedule.transmissions or schedule.collective.messages > 1


def test_what_messages_cannot_carry_says_why():
    one = ranks(["s: send 8b to 1 tag 0"], ["r: recv 8b from 0 tag 0"])
    assert goal.judge(one, Told(collective="broadcast", size=8))[1]().steps == 1
    two = ranks(
        ["s: send 5b to 1 tag 0", "t: send 5b to 1 tag 1"], ["r: recv 5b from 0 tag 0", "u: recv 5b from 0 tag 1"]
    )
    with pytest.raises(FormatError, match="has 5 bytes, and its contents 8"):
        goal.judge(two, Told(collective="broadcast", size=8))[1]()


def swapped(data, old, new):
    assert old in data
    return data.replace(old, new, 1)


CIRCLE = ranks(
    ["r0: recv 8b from 1 tag 0", "s0: send 8b to 1 tag 0", "s0 requires r0"],
    ["r0: recv 8b from 0 tag 0", "s0: send 8b to 0 tag 0", "s0 requires r0"],
)
WRONG = {
    "a send that meets nothing": (
        "pairs", goal, swapped(binomial_broadcast(), b"l1: recv 64b from 2", b"l1: recv 64b from 1"), Told(),
    ),
    "other bytes": ("pairs", goal, swapped(binomial_broadcast(), b"l1: recv 64b from 2", b"l1: recv 63b from 2"), Told()),
    "a circle": ("order", goal, CIRCLE, Told()),
    "both receive first": (
        "order", traces,
        b"0 init\n0 recv 1 0 8\n0 send 1 0 8\n0 finalize\n1 init\n1 recv 0 0 8\n1 send 0 0 8\n1 finalize\n", Told(),
    ),
    "no link": ("adjacent", goal, binomial_broadcast(), Told(network="path:4")),
    "two messages on an arc": (
        "link-once", goal, ranks(["s: send 8b to 1 tag 0", "t: send 8b to 1 tag 1"],
                                 ["s: recv 8b from 0 tag 0", "t: recv 8b from 0 tag 1"]),
        Told(network="path:2"),
    ),
    "nobody tells rank 3": (
        "delivered", goal, ranks(["s: send 8b to 1 tag 0"], ["r: recv 8b from 0 tag 0"], [], []), Told(collective="broadcast"),
    ),
    "too short": ("delivered", goal, ring_allgather(size=9), Told(collective="allgather", size=40)),
    "passed on too early": (
        "delivered", goal, swapped(ring_allgather(), b"s1 requires r0\n", b""), Told(collective="allgather", size=40),
    ),
    "a contribution is lost": (
        "delivered", goal, doubling_allreduce().replace(b"s1 requires c0\n", b"", 1), Told(collective="allreduce", size=8),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_each_fault_is_refused_by_its_rule(what):
    rule, reader, data, told = WRONG[what]
    verdict, _ = reader.judge(data, told)
    assert {name for name, count in verdict.counts.items() if count} == {rule}, str(verdict)
    assert all("\n" not in str(finding) for finding in verdict.findings)


def test_what_a_circle_is_depends_on_how_long_messages_are():
    """Two ranks that both send before they receive: short messages go, long ones wait for their receives."""
    lines = ["s: send 8b to {} tag 0", "r: recv 8b from {} tag 0", "r requires s"]
    data = ranks(*([line.format(1 - rank) for line in lines] for rank in (0, 1)))
    verdict, _ = goal.judge(data, Told())
    assert verdict.holds
    assert "in a circle if a send ends only when its receive has begun" in verdict.notes[0]
    same = b"0 init\n0 send 1 0 8\n0 recv 1 0 8\n0 finalize\n1 init\n1 send 0 0 8\n1 recv 0 0 8\n1 finalize\n"
    assert traces.judge(same, Told())[0].counts["order"]


@pytest.mark.parametrize("size", [2, 3, 4, 9])
def test_a_circle_says_how_many_it_leaves_out(size):
    """Each rank receives from the one before it before it sends to the next one."""
    lines = ["r: recv 8b from {} tag 0", "s: send 8b to {} tag 0", "s requires r"]
    own = [[line.format((rank - 1 + 2 * (k == 1)) % size) for k, line in enumerate(lines)] for rank in range(size)]
    (finding,) = goal.judge(ranks(*own), Told())[0].findings
    left_out = 2 * size - 6
    assert finding.text.count("rank ") == min(2 * size, 6)
    assert (f", which waits, over {left_out} more, for {finding.where}, in a circle of {2 * size}" in finding.text) == (
        left_out > 0
    )
    assert finding.text.endswith("in a circle") == (left_out <= 0)


def test_what_is_missing_is_counted_in_blocks_where_nobody_names_bytes():
    data = ranks(["s: send 8b to 1 tag 0"], ["r: recv 8b from 0 tag 0"], [])
    (verdict, _) = goal.judge(data, Told(collective="broadcast"))
    assert verdict.findings[0].text == "rank 2 wants 1 chunk, and at most 0 can get there"
    assert "bytes" in goal.judge(data, Told(collective="broadcast", size=8))[0].findings[0].text


def test_comments_that_are_wrong_are_found_out():
    data = as_goal(plan("broadcast", "path:3", messages=2), size=20)
    second = b"// step 1 port 0 tree 0 chunks 0\n"  # of node 1
    for old, new, rule in (
        (b"s2 requires r0\n", b"", "waits"),
        (second, second.replace(b"chunks 0", b"chunks 1"), "waits"),
        (b"// step 1 port 0 tree 0 chunks 1\n", second, "delivered"),
        (second, second.replace(b"step 1", b"step 0"), "order"),
        (second, second.replace(b"port 0", b"port 1"), "adjacent"),
        (b"// step 1 port 0 tree 0 chunks 1\n", b"// step 0 port 0 tree 0 chunks 1\n", "link-once"),
    ):
        verdict, _ = goal.judge(swapped(data, old, new), Told())
        assert verdict.counts[rule], (old, str(verdict))
        with pytest.raises(FormatError, match="this file of goal is wrong"):
            formats.decode(swapped(data, old, new))
    for old, new, why in (
        (b"chunks 1\n", b"chunks 0-1\n", "has 10 bytes, and its chunks 20"),
        (b"// step 0 port 0 tree 0 chunks 0\n", b"", "do not say the contents of "),
        (b"// treecast network path:3", b"// treecast network path:4", "has 4 nodes, and the file 3 ranks"),
        (b"// treecast network path:3\n", b"", "but not the network"),
        (b"// treecast copies 1", b"// treecast colour 1", "line .*: 'treecast colour 1' is no"),
        (b"chunks 1\n", b"chunks 1-99999999999\n", "too many to judge|chunk"),
    ):
        with pytest.raises(FormatError, match=why):
            goal.judge(swapped(data, old, new), Told())
    with pytest.raises(FormatError, match="say its job"):
        goal.judge(data, Told(network="path:3"))


def altered(data, chance):
    """Return a file with a line left out, doubled, exchanged, or a number or word of it changed."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    what = chance.randrange(5)
    if what == 0:
        del lines[at]
    elif what == 1:
        lines.insert(at, lines[at])
    elif what == 2:
        other = chance.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    else:
        words = re.findall(rb"[a-z]+|\d+|\W", lines[at]) or [b""]
        word = chance.randrange(len(words))
        words[word] = chance.choice(
            [
                b"",
                b"0",
                b"1",
                b"2",
                b"send",
                b"recv",
                b"9" * 30,
                b"\xff",
                b"requires",
                b"-",
                b"waitall",
                b"}",
                words[word] + b"0",
            ]
        )
        lines[at] = b"".join(words)
    return b"\n".join(lines)


def fuzz(count):
    """Judge changed files; return how many were judged, and how many of these held."""
    chance, judged, held = random.Random(23), 0, 0
    sources = [(reader, data, told) for reader, data, told in RIGHT.values()]
    sources += [(reader, data, told) for _, reader, data, told in WRONG.values()]
    for kind in ("broadcast", "scatter", "reduce-broadcast"):
        schedule = planned(kind, "tree:2,2")
        sources += [(goal, as_goal(schedule), Told()), (traces, as_traces(schedule), Told())]
    for _ in range(count):
        reader, data, told = chance.choice(sources)
        for _ in range(chance.choice((1, 1, 2, 4))):
            data = altered(data, chance)
        try:
            verdict, schedule_of = reader.judge(data, told)
            judged += 1
            held += verdict.holds
            str(verdict)
            schedule_of()
        except TreecastError as error:
            check_line(str(error))
    return judged, held


def check_line(text):
    assert text.isprintable()
    assert len(text) < 600


def test_no_changed_file_is_more_than_refused():
    judged, held = fuzz(250)
    assert judged > 25
    assert held > 5


def carry_out(data, schedule, sizes):
    if b"num_ranks" in data:
        goal_interpreter.interpret(data, schedule, sizes)
        return
    by_rank = {}
    for line in data.decode().splitlines():
        if line and not line.startswith("#"):
            by_rank.setdefault(line.split()[0], []).append(line + "\n")
    files = {f"{rank}.txt": "".join(part).encode() for rank, part in by_rank.items()}
    names = "".join(f"{rank}.txt\n" for rank in sorted(by_rank, key=int)).encode()
    traces_interpreter.interpret({**files, "list.txt": names, "hosts": names}, schedule, sizes)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"num_ranks 0\n", "begins with 'num_ranks N'"),
        (b"num_ranks 99999999999\n", "no whole number up to 65,536"),
        (b"num_ranks 2\nrank 0 {\n}\n", "ends within rank 1: it is cut off"),
        (b"num_ranks 1\nrank 0 {\nl1: send 5b to 1 tag 0\n", "it is cut off"),
        (b"num_ranks 1\nrank 0 {\nl1: put 5b\n}\n", "line 3: .* is none of 'LABEL: send"),
        (b"num_ranks 1\nrank 0 {\nl1 requires l2\n}\n", "line 3: l1 is no label above it"),
        (b"num_ranks 1\nrank 0 {\nl1: calc 5\nl1: calc 5\n}\n", "line 4: label l1 stands there twice"),
        (b"num_ranks 2\nrank 0 {\nl1: send 5b to 7 tag 0\n}\nrank 1 {\n}\n", "line 3: rank 0 has no message with rank 7"),
        (b"num_ranks 1\n/* never ends", "within a comment"),
        (b"num_ranks 1\nrank 0 {\n\xff\n}\n", "not UTF-8"),
        (b"0 init\n", "does not end with '0 finalize': it is cut off"),
        (b"0 init\n0 bcast 5\n0 finalize\n", "line 2: bcast is a collective"),
        (b"0 init\n0 jump 5\n0 finalize\n", "line 2: '0 jump 5' is none of RANK and"),
        (b"0 init\n0 isend 1 0 5\n0 finalize\n", "has not waited for all that it began"),
        (b"0 init\n0 wait 1 0 5\n0 finalize\n", "which it has not begun"),
        (b"0 init\n0 finalize\n2 init\n2 finalize\n", "no trace of rank 1"),
        (b"0 init\n0 init\n", "from init to finalize, each once"),
    ],
)  # fmt: skip
def test_what_is_cut_or_nonsense_is_refused(data, why):
    with pytest.raises(FormatError, match=why):
        formats.decode(data)


def test_what_is_told_has_to_fit():
    data = ring_allgather()
    for told, why in (
        (Told(network="ring:5"), "ring:5 has 5 nodes, and the file 4 ranks"),
        (Told(size=5), "name it by --collective"),
        (Told(collective="allgather", size=3), "cannot be cut into 4 chunks"),
    ):
        with pytest.raises(TreecastError, match=why):
            goal.judge(data, told)
    with pytest.raises(FormatError, match="says its network and job"):
        formats.judge(__file__.replace("test_operations.py", "golden/v1/reduce-cube.tc"), Told(network="hypercube:3"))


def test_a_folder_is_read_as_one_file(tmp_path):
    schedule = plan("allgather", "hypercube:3")
    formats.save(schedule, tmp_path / "cube.simgrid")
    assert said(messages_of(formats.load(tmp_path / "cube.simgrid"))) == said(messages_of(schedule))
    (tmp_path / "cube.simgrid" / "list.txt").write_text("../../etc/passwd\n")
    with pytest.raises(FormatError, match="which is no file of that folder"):
        formats.load(tmp_path / "cube.simgrid")


def test_the_interpreters_are_not_fooled_by_what_the_judge_refuses():
    with pytest.raises(WrongError):
        carry_out(
            swapped(as_goal(plan("broadcast", "path:3"), size=12), b"s1 requires r0\n", b""),
            plan("broadcast", "path:3"),
            [12],
        )


def each_wait_of_a_sum_is_needed(spec):
    """Each line that says what waits is left out: the judge refuses the file exactly if bytes go wrong."""
    schedule = plan("allreduce", spec, without_owners=True)
    lines = as_goal(schedule, size=12 * schedule.collective.sums).decode().splitlines(keepends=True)
    refused = 0
    for i in (i for i, line in enumerate(lines) if " requires " in line):
        data = "".join(lines[:i] + lines[i + 1 :]).encode()
        try:
            carry_out(data, schedule, [12] * schedule.collective.chunks)
            right = True
        except WrongError:
            right = False
        verdict, _ = goal.judge(data, Told())
        assert verdict.holds == right, lines[i]
        refused += not right
    assert refused > len(lines) // 20


def test_a_sum_so_far_waits_for_all_that_is_in_it():
    each_wait_of_a_sum_is_needed("ring:5")


@pytest.mark.parametrize("d", [2, 5])
def test_messages_of_several_chunks_are_held_to_the_bounds_of_a_machine_that_combines(d):
    """31 chunks over 5 arcs take 7 steps one by one."""
    told = Told(network=f"hypercube:{d}", collective="allgather", size=8 * 2**d)
    verdict, _ = goal.judge(doubling_allgather(d), told)
    assert verdict, verdict.findings
    assert verdict.steps == d == max(bound.value for bound in verdict.bounds)


QUICK = ("tree:2,2", CUT, WIRED)


@pytest.mark.slow
@pytest.mark.each(5)
@pytest.mark.parametrize(("write", "reader"), BOTH)
@pytest.mark.parametrize(
    ("kind", "spec"),
    [job if job.values[1] in QUICK else pytest.param(*job.values, id=job.id, marks=pytest.mark.long) for job in JOBS],
)
def test_what_is_written_is_read_again_and_holds(kind, spec, write, reader):
    schedule = planned(kind, spec)
    data = write(schedule)
    again = formats.decode(data)
    assert said(messages_of(again)) == said(messages_of(schedule))
    verdict, schedule_of = reader.judge(data, Told())
    assert verdict.holds
    assert verdict.steps == verify(schedule).steps
    assert schedule_of() == again
    assert write(again) == data


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["broadcast", "reduce", "reduce-broadcast"])
@pytest.mark.parametrize(("write", "reader"), BOTH)
def test_what_the_judge_lets_through_delivers(kind, write, reader):
    """Every line of a file left out, doubled or exchanged with the next: what the judge accepts, the interpreter carries out."""
    schedule = plan(kind, "path:3", messages=2)
    lines, sizes, passed = write(schedule, size=24).decode().splitlines(), [12] * schedule.collective.chunks, 0
    for i, line in enumerate(lines):
        if line.startswith(("//", "#")):
            continue
        for changed in ([], [line, line], [*lines[i + 1 : i + 2], line]):
            step = 2 if len(changed) == 2 and changed[1:] == [line] and changed[0] != line else 1
            data = "\n".join([*lines[:i], *changed, *lines[i + step :], ""]).encode()
            try:
                held = reader.judge(data, Told())[0].holds
            except FormatError:
                continue
            if held:
                passed += 1
                carry_out(data, schedule, sizes)
    assert passed


@pytest.mark.slow
def test_a_sum_so_far_waits_for_all_that_is_in_it_at_length():
    each_wait_of_a_sum_is_needed("tree:2,2")


@pytest.mark.long
def test_no_changed_file_of_many_is_more_than_refused():
    assert fuzz(30_000)[0] > 3000
