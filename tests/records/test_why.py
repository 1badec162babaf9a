"""Who keeps a job waiting: each fault's rank is named and nobody else, with all records and with some."""

import json
import os
import pickle
import random

import pytest

import treecast
from tests.records.jobs import FAULTS, dump_of, groups_of, make_job, write
from treecast.files.records.reading import read

SEEDS = range(4)


def named(found):
    return {rank for verdict in found.verdicts for rank in verdict.ranks}


def judged(folder, **more):
    return treecast.why(folder, taken=2e9, **more)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_rank_of_a_fault_is_named_and_nobody_else(tmp_path, fault, seed):
    dumps, odd = make_job(seed, fault)
    found = judged(write(tmp_path / "records", dumps))
    assert named(found) == set(odd), (fault, found.verdicts)
    assert bool(found) == (fault == "none")


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in ("none", "dead")])
def test_a_job_that_somebody_has_ended_is_judged_as_while_it_hung(tmp_path, fault):
    dumps, odd = make_job(0, fault)
    for dump in dumps.values():
        dump["treecast"] = {"gone": True, "taken_ns": 2 * 10**18}
    found = treecast.why(write(tmp_path / "records", dumps))
    assert named(found) == set(odd), (fault, found.verdicts)
    assert not any("ended without a word" in verdict.text for verdict in found.verdicts)


def test_a_job_that_ended_where_nobody_waited_is_not_known(tmp_path):
    dumps, _ = make_job(0, "none")
    for dump in dumps.values():
        dump["treecast"] = {"gone": True}
    (verdict,) = judged(write(tmp_path / "records", dumps)).verdicts
    assert verdict.kind == "cannot"


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_with_half_of_the_records_nobody_recorded_is_named_wrongly(tmp_path, fault, seed):
    """Those without a record may be named, as what they did is not known."""
    dumps, odd = make_job(seed, fault)
    kept = random.Random(seed).sample(sorted(dumps), (len(dumps) + 1) // 2)
    found = judged(write(tmp_path / "records", {rank: dumps[rank] for rank in kept}))
    assert not (named(found) & set(kept)) - set(odd), (fault, found.verdicts)


def test_pickle_json_and_packed_records_are_judged_alike(tmp_path):
    import gzip
    import tarfile

    dumps, _ = make_job(1, "stopped")
    first = write(tmp_path / "a", dumps)
    packed = tmp_path / "b"
    packed.mkdir()
    for file in first.iterdir():
        (packed / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    with tarfile.open(tmp_path / "c.tar", "w") as archive:
        for file in first.iterdir():
            archive.add(file, file.name)
    found = [judged(place) for place in (first, write(tmp_path / "d", dumps, "json"), packed, tmp_path / "c.tar")]
    assert len({str(each.verdicts[0].ranks) for each in found}) == 1
    assert found[0].verdicts[0].kind == "absent"
    assert "train.py" in found[0].verdicts[0].text


def test_two_groups_crossed_by_half_of_the_ranks_are_a_circle(tmp_path):
    """Rank 0 stands in a call of one group, rank 1 in a call of the other; nobody can say who is odd."""
    groups = {"0": ("default_pg", [0, 1]), "1": ("A", [0, 1]), "2": ("B", [0, 1])}
    call = {name: (name, "all_reduce", 4, 4, "Float") for name in groups}
    first, second = 10**18, 10**18 + 10**6
    dumps = {
        0: dump_of(0, [[call["1"], 1, first, False], [call["2"], 1, second, False]], groups),
        1: dump_of(1, [[call["2"], 1, first, False], [call["1"], 1, second, False]], groups),
    }
    (verdict,) = judged(write(tmp_path / "records", dumps)).verdicts
    assert (verdict.kind, verdict.ranks) == ("crossed", (0, 1))
    assert "waits for 1" in verdict.lines[0]


def exchange(splits, group="0"):
    """Return the records of an exchange that does not end: what each sends to each, and expects of each."""
    sends, expects = splits
    n = len(sends)
    groups = {"0": ("default_pg", list(range(n))), "1": ("TURNED", [(place + 2) % n for place in range(n)])}
    dumps = {}
    for place, sent in enumerate(sends):
        rank = groups[group][1][place]
        call = (group, "all_to_all", sum(sent), sum(expects[place]), "Float")
        dumps[rank] = dump_of(rank, [[call, 1, 10**18 + rank, False]], groups)
        dumps[rank]["entries"][0]["treecast"] = {"splits": [list(sent), list(expects[place])]}
    return dumps


@pytest.mark.parametrize("seed", SEEDS)
def test_splits_that_do_not_fit_name_the_rank_that_differs_from_several(tmp_path, seed):
    rng = random.Random(seed)
    n, odd = rng.randrange(4, 7), rng.randrange(3)
    sends = [[rng.randrange(1, 9) for _ in range(n)] for _ in range(n)]
    expects = [[sends[a][b] for a in range(n)] for b in range(n)]
    fits = judged(write(tmp_path / "fits", exchange((sends, expects))))
    assert fits.verdicts[0].kind == "stalled"
    one, other = rng.sample([rank for rank in range(n) if rank != odd], 2)
    sends[odd][one] += 1  # the sums stay as they are
    sends[odd][other] -= 1
    for group, rank in (("0", odd), ("1", (odd + 2) % n)):  # ranks of a group may stand in any order
        (verdict,) = judged(write(tmp_path / f"wrong-{group}", exchange((sends, expects), group))).verdicts
        assert (verdict.kind, verdict.ranks, verdict.sure) == ("splits", (rank,), True)
    sends[odd][other] += 1
    (verdict,) = judged(write(tmp_path / "pair", exchange((sends, expects)))).verdicts
    assert (verdict.kind, verdict.ranks, verdict.sure) == ("splits", tuple(sorted((odd, one))), False)
    assert f"{odd} sends {sends[odd][one]} elements to {one}" in verdict.text
    assert f", which expects {expects[one][odd]}" in verdict.text


def test_a_group_of_all_ranks_that_gloo_names_by_its_size_has_them_as_members(tmp_path):
    """gloo's one row tells of the group that a rank joined last, counted from 0: here of all, and of two."""
    groups = {"0": ("default_pg", [0, 1, 2, 3]), "1": ("undefined", [0, 1, 2, 3]), "2": ("undefined", [0, 1, 2, 3])}
    small = {"0": ("default_pg", [0, 1, 2, 3]), "1": ("undefined", [2, 3])}
    call = {name: (name, "all_reduce", 4, 4, "Float") for name in groups}

    def of(rank, name, groups, latest):
        made = [[call["0"], 1, 10**18, True], *([[call[name], 1, 10**18 + 9, False]] if name else [])]
        dump = dump_of(rank, made, groups, prefix="gloo")
        row = {"name": "", "desc": "", "ranks": str(list(range(latest)))}
        return {**dump, "pg_config": {"": row}, "pg_status": {}}

    crossed = {rank: of(rank, "2" if rank == 1 else "1", groups, 4) for rank in range(4)}
    (verdict,) = judged(write(tmp_path / "crossed", crossed)).verdicts
    assert (verdict.kind, verdict.ranks) == ("crossed", (1,))
    stopped = {rank: of(rank, "1" if rank == 2 else "", small, 4 if rank < 2 else 2) for rank in range(4)}
    found = judged(write(tmp_path / "stopped", stopped))
    assert (found.ranks, found.verdicts[0].kind, found.verdicts[0].ranks) == (4, "absent", (3,))


@pytest.mark.parametrize("seed", SEEDS)
def test_an_order_that_did_not_hang_is_a_note(tmp_path, seed):
    """One rank of a grid turned its row and column round: the others of both still come."""
    dumps, (odd,) = make_job(seed, "order")
    found = judged(write(tmp_path / "records", dumps))
    assert found
    assert [note.split()[0] for note in found.notes] == [str(odd)]


def test_a_running_job_is_alright_by_the_times_of_its_files(tmp_path):
    dumps, _ = make_job(2, "none")
    last = max(entry["time_created_ns"] for dump in dumps.values() for entry in dump["entries"])
    for dump in dumps.values():
        dump["pg_status"] = {}
        for entry in dump["entries"][-1:]:
            entry |= {"state": "scheduled", "retired": False, "time_discovered_completed_ns": None}
    dumps[0]["entries"].pop()
    folder = write(tmp_path / "records", dumps)
    for file in folder.iterdir():
        os.utime(file, ns=(last, last))
    assert treecast.why(folder)
    assert judged(folder).verdicts[0].ranks == (0,)


def test_two_sets_of_records_tell_whether_a_job_stands(tmp_path):
    dumps, (odd,) = make_job(3, "stopped")
    late = write(tmp_path / "late", dumps)
    early = write(tmp_path / "early", {r: {**dump, "entries": dump["entries"][:-1]} for r, dump in dumps.items()})
    assert treecast.why(early, late)
    found = treecast.why(late, late)
    assert named(found) == {odd}
    assert any("nobody did" in note for note in found.notes)


def test_a_late_rank_is_behind(tmp_path):
    dumps, _ = make_job(0, "none")
    for entry in dumps[1]["entries"]:
        entry["time_created_ns"] += 10**9
    (verdict,) = judged(write(tmp_path / "records", dumps)).verdicts
    assert (verdict.kind, verdict.ranks) == ("behind", (1,))


def test_ranks_that_are_at_hand_may_be_few(tmp_path):
    dumps, _ = make_job(0, "stopped")
    folder = write(tmp_path / "records", {3: dumps[3]})
    found = treecast.why(folder, taken=2e9, ranks=64)
    assert found.ranks == 64
    assert found.limits[0] == "ranks 0-2, 4-63 (no record)"


def test_a_call_is_found_by_the_group_as_the_report_writes_it(tmp_path):
    found = treecast.why(write(tmp_path / "records", make_job(0, "none")[0]))
    group = found.job.groups[0]
    tables = {str(found.at(f"{name}:{number}")) for name in (group.name, group) for number in (3, "0,003")}
    assert len(tables) == 1
    with pytest.raises(treecast.FormatError, match=f"groups are {group}"):
        found.at("9:1")


def test_bad_questions_are_refused_in_one_line(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    folder = write(tmp_path / "records", make_job(0, "none")[0])
    for ask, says in (
        (lambda: treecast.why(tmp_path / "nothing"), "cannot be read"),
        (lambda: treecast.why(empty), "there are no files"),
        (lambda: treecast.why(folder, ranks=0), "at least one rank"),
        (
            lambda: treecast.why("examples/records", ranks=2),
            "--ranks 2, but the records tell of ranks up to 3: write 4",
        ),
        (lambda: treecast.why(folder, ranks_from="x(y)"), "finds no rank"),
        (lambda: treecast.why(folder).at("9:1"), "is no call"),
    ):
        with pytest.raises(treecast.FormatError, match=says) as caught:
            ask()
        assert "\n" not in str(caught.value)


LOG = """
[rank1]:[E612 ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={1}, \
OpType=ALLREDUCE, NumelIn={2}, NumelOut={2}, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.
[rank1]:[E612 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank {0}] failure detected by watchdog at work \
sequence id: {1} PG status: last enqueued work: {1}, last completed work: {3}
"""


def test_lines_of_the_watchdog_tell_who_is_behind(tmp_path):
    """Rank 2 stands in call 7, which the others ended."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for rank in range(4):
        text = LOG.format(rank, *((7, 64, 6) if rank == 2 else (8, 128, 7)))
        (folder / f"worker{rank}.log").write_text(text)
    (verdict,) = judged(folder).verdicts
    assert (verdict.kind, verdict.ranks) == ("stuck", (2,))


RAS = """NCCL version 2.26.2
Job summary
===========
Communicators... (0.00s)
=============
Warnings
========

#0-0 (c0ffee) MISMATCH
  Communicator ranks have different AllGather operation counts
  {few} ranks have launched up to operation {low}
{named}  {many} ranks have launched up to operation {high}
  Rank 12 -- GPU 4 managed by process 32 on node n1
  Rank 13 -- GPU 5 managed by process 33 on node n1
"""


def test_of_ras_those_behind_are_awaited_whoever_is_listed(tmp_path):
    file = tmp_path / "ras.txt"
    file.write_text(RAS.format(few=30, low=640, named="", many=2, high=641))
    (verdict,) = treecast.why(file).verdicts
    assert (verdict.kind, verdict.ranks) == ("cannot", ())
    assert "12, 13 wait for one or more" in verdict.text
    file.write_text(RAS.format(few=1, low=640, named="  Rank 5 -- GPU 5 on node n0\n", many=2, high=641))
    (verdict,) = treecast.why(file).verdicts
    assert (verdict.kind, verdict.ranks) == ("absent", (5,))


def test_of_ras_alone_no_call_is_asked_for(tmp_path):
    (tmp_path / "ras.txt").write_text(RAS.format(few=30, low=640, named="", many=2, high=641))
    with pytest.raises(treecast.FormatError, match="is no call"):
        treecast.why(tmp_path / "ras.txt").at("0:1")


def test_of_ras_as_json_those_behind_and_those_silent_are_named(tmp_path):
    def rank(number, sums, gathers=7):
        return {"rank": number, "pid": 9, "collective_counts": {"AllGather": gathers, "AllReduce": sums}}

    def ask(ranks, missing=(), text=json.dumps):
        about = {
            "hash": "0xc0ffee",
            "size": 4,
            "ranks": ranks,
            "missing_ranks": [{"rank": r, "pid": 3} for r in missing],
        }
        (tmp_path / "ras.json").write_text(text({"nccl_version": "2.28.9", "communicators": [about]}))
        return treecast.why(tmp_path / "ras.json").verdicts

    (verdict,) = ask([rank(k, 640 - (k == 2)) for k in range(4)])
    assert (verdict.kind, verdict.ranks, verdict.waiting) == ("absent", (2,), 3)
    assert "AllReduce 640" in verdict.text
    (verdict,) = ask([rank(k, 640) for k in range(3)], (3,))
    assert (verdict.kind, verdict.ranks) == ("ended", (3,))
    (lost_comma,) = ask(
        [rank(k, 640) for k in range(3)], (3,), lambda x: json.dumps(x, indent=1).replace("3,\n", "3\n")
    )
    assert lost_comma == verdict
    (verdict,) = ask([rank(k, 640) for k in range(4)])
    assert verdict.kind == "alright"
    with pytest.raises(treecast.FormatError, match="RAS cannot be read"):
        ask([{"rank": 1}])


def test_a_stack_beside_records_says_where_an_absent_rank_is(tmp_path):
    dumps, (odd,) = make_job(0, "stopped")
    folder = write(tmp_path / "records", dumps)
    stack = 'Thread 8 (idle): "MainThread"\n    wait (threading.py:331)\n    fetch (loader.py:42)\n'
    (folder / f"stack-{odd}.txt").write_text(stack)
    assert "fetch at loader.py:42" in judged(folder).verdicts[0].text


def test_a_stack_is_of_the_rank_that_its_name_tells_and_of_no_other_number(tmp_path):
    dumps, (odd,) = make_job(0, "stopped")
    folder = write(tmp_path / "records", dumps)
    other = next(each for each in dumps if each != odd)
    for number, place in ((odd, "here"), (other, "there")):
        stack = f'Thread 8 (idle): "MainThread"\n    {place} (loader.py:42)\n'
        (folder / f"node{other}-rank{number}-stack.txt").write_text(stack)
    found = {dump.rank: dump.stack for dump in read([folder]).dumps}
    assert "here" in found[odd]
    assert "there" in found[other]


def test_a_report_has_about_fifteen_lines(tmp_path):
    for fault in FAULTS:
        text = str(judged(write(tmp_path / fault, make_job(0, fault)[0])))
        assert len(text.splitlines()) <= 15, text


def test_records_without_groups_still_name_a_rank(tmp_path):
    """gloo's: one nameless row for groups, no state."""
    groups, (dumps, (odd,)) = groups_of(1, 4), make_job(0, "stopped")
    assert groups["0"][0] == "default_pg"
    for dump in dumps.values():
        dump["pg_config"] = {"": {"name": "", "desc": "", "ranks": "[]"}}
        for entry in dump["entries"]:
            entry |= {"state": "scheduled", "time_discovered_completed_ns": None}
            entry["profiling_name"] = entry["profiling_name"].replace("nccl", "gloo")
    found = judged(write(tmp_path / "records", pickle.loads(pickle.dumps(dumps))))
    assert odd in named(found)
