"""Records of jobs with a known fault: ranks make calls in order, hosts run ahead of devices, until nothing moves."""

import json
import pickle
import random
from collections import defaultdict

FAULTS = (
    "none",
    "left_out",
    "other_size",
    "other_kind",
    "other_type",
    "swapped",
    "dead",
    "stopped",
    "device",
    "crossed",
)


def groups_of(rows, columns):
    """Return the groups of a grid of ranks: all, each row, each column; name -> (title, members)."""
    ranks = [[row * columns + column for column in range(columns)] for row in range(rows)]
    groups = [("default_pg", list(range(rows * columns)))]
    groups += [("ROW", row) for row in ranks] + [("COLUMN", list(column)) for column in zip(*ranks, strict=True)]
    return {str(number): group for number, group in enumerate(groups)}


def program_of(rank, groups, steps):
    """Return the calls of a rank, (group, kind, elements in, elements out, type): no two in a row are alike."""
    mine = {words: (name, len(members)) for name, (words, members) in groups.items() if rank in members}
    (row, width), (column, height), (world, _) = mine["ROW"], mine["COLUMN"], mine["default_pg"]
    return [
        call
        for step in range(steps)
        for call in (
            (row, "_all_gather_base", 64, 64 * width, "BFloat16"),
            (row, "all_reduce", 100 + step, 100 + step, "BFloat16"),
            (column, "_reduce_scatter_base", 32 * height, 32, "Float"),
            (column, "all_reduce", 7, 7, "Float"),
            (world, "all_reduce", 1, 1, "Float"),
        )
    ]


def break_program(program, fault, place):
    """Change one call of a program; calls of the fault ``stopped`` and ``dead`` end it there."""
    group, kind, ins, outs, type_ = program[place]
    if fault == "left_out":
        del program[place]
    elif fault == "other_size":
        program[place] = group, kind, 2 * ins, 2 * outs, type_
    elif fault == "other_kind":
        program[place] = group, "broadcast", ins, outs, type_
    elif fault == "other_type":
        program[place] = group, kind, ins, outs, "Half"
    elif fault in ("swapped", "crossed", "order"):  # two calls of one group, or of two
        program[place], program[place + 1] = program[place + 1], program[place]
    elif fault in ("dead", "stopped"):
        del program[place:]
    elif fault == "device":
        program[place] = *program[place], "never"


def run(programs, groups, ahead, rng):
    """Return for each rank its calls, (call, number, begun, ended), as far as they get."""
    made = [[] for _ in programs]
    queues, numbers, clock, moved = [[] for _ in programs], defaultdict(int), 10**18, True
    while moved:
        moved = False
        for rank in rng.sample(range(len(programs)), len(programs)):
            while len(made[rank]) < len(programs[rank]) and len(queues[rank]) < ahead:
                call = programs[rank][len(made[rank])]
                numbers[rank, call[0]] += 1
                clock += rng.randrange(1000, 2000)
                entry = [call, numbers[rank, call[0]], clock, False]
                made[rank].append(entry)
                queues[rank].append(entry)
                moved = True
        for queue in queues:
            if not queue:
                continue
            call, number, *_ = queue[0]
            members = groups[call[0]][1]
            heads = [queues[other][0] if queues[other] else None for other in members]
            if all(head and head[1] == number and head[0][:5] == call[:5] for head in heads):
                for other, head in zip(members, heads, strict=True):
                    if len(head[0]) == 5:  # the device of the odd rank never ends it
                        head[3] = moved = True
                        queues[other].pop(0)
    return made


def dump_of(rank, made, groups, *, keep=2000, prefix="nccl"):
    """Return the record of a rank in the form of PyTorch's flight recorder."""
    mine = [name for name, (_, members) in groups.items() if rank in members]
    entries = [
        {
            "record_id": place,
            "pg_id": mine.index(call[0]),
            "process_group": (call[0], groups[call[0]][0]),
            "collective_seq_id": number,
            "p2p_seq_id": 0,
            "op_id": place + 1,
            "profiling_name": f"{prefix}:{call[1]}",
            "time_created_ns": begun,
            "input_sizes": [[call[2]]],
            "output_sizes": [[call[3]]],
            "input_dtypes": [call[4]],
            "output_dtypes": [call[4]],
            "state": "completed" if ended else "scheduled",
            "time_discovered_completed_ns": begun + 500 if ended else None,
            "retired": ended,
            "is_p2p": False,
            "frames": [{"name": "step", "filename": "/job/train.py", "line": 10 + place}],
        }
        for place, (call, number, begun, ended) in enumerate(made)
    ]
    config = {name: {"name": name, "desc": groups[name][0], "ranks": str(groups[name][1])} for name in mine}
    status = dict[str, dict[str, int]]()
    for place, name in enumerate(mine):
        own = [(number, ended) for call, number, _, ended in made if call[0] == name]
        last = (
            max((number for number, _ in own), default=-1),
            max((number for number, ended in own if ended), default=-1),
        )
        words = "last_enqueued_collective", "last_started_collective", "last_completed_collective"
        status[str(place)] = dict(zip(words, (last[0], -1, last[1]), strict=True))
    return {"version": "2.9", "pg_config": config, "pg_status": status, "entries": entries[-keep:]}


def make_job(seed, fault, *, steps=6):
    """Return the records of a job with a fault, by rank, and the ranks that are to be named."""
    rng = random.Random(f"{fault}{seed}")
    rows, columns = rng.choice([(2, 3), (2, 4), (3, 3), (4, 2), (3, 4)])
    groups = groups_of(rows, columns)
    size = rows * columns
    programs = [program_of(rank, groups, steps) for rank in range(size)]
    odd = rng.randrange(size)
    place = 5 * rng.randrange(1, steps - 2)
    place += {"swapped": 0, "crossed": 4, "order": 1}.get(fault, rng.randrange(4))
    if fault != "none":
        break_program(programs[odd], fault, place)
    made = run(programs, groups, rng.choice([1, 3, 16]), rng)
    dumps = {rank: dump_of(rank, calls, groups) for rank, calls in enumerate(made)}
    if fault == "dead":
        del dumps[odd]
    return dumps, () if fault == "none" else (odd,)


def write(folder, dumps, form="pickle"):
    """Write records into a folder, a file for each rank."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank, dump in dumps.items():
        if form == "json":
            (folder / f"dump-{rank}.json").write_text(json.dumps(dump))
        else:
            (folder / f"trace_rank_{rank}").write_bytes(pickle.dumps(dump, 2))
    return folder
