"""Calls that ranks make unlike, over sockets: all of the table, and programs of which one call is altered."""

import random

import numpy as np

from treecast import tcp

SIZES = {"8 B": 1, "1 KiB": 128, "1 MiB": 1 << 17}


def _whole(comm, count, dtype=np.float64):
    return np.full(count, 100 + comm.rank, dtype)


def table(n, most=tcp.MAX):
    """Return the calls of n ranks, by what they are: kinds, sizes, roots, operations (``most`` is MAX), and types of entries."""
    calls = {
        "Barrier": lambda c: c.Barrier(),
        "allgather": lambda c: c.allgather(c.rank),
        "alltoall": lambda c: c.alltoall(list(range(n))),
        "allreduce": lambda c: c.allreduce(c.rank),
        "allreduce MAX": lambda c: c.allreduce(c.rank, most),
        "scan": lambda c: c.scan(c.rank),
        "Split": lambda c: c.Split(0, c.rank),
    }
    for root in (0, 1):
        calls |= {
            f"bcast root {root}": lambda c, r=root: c.bcast(("a", c.rank), r),
            f"gather root {root}": lambda c, r=root: c.gather(c.rank, r),
            f"scatter root {root}": lambda c, r=root: c.scatter(list(range(n)), r),
            f"reduce root {root}": lambda c, r=root: c.reduce(c.rank, root=r),
        }
    for size, k in SIZES.items():
        for kind in ("f8", "f4", "i8"):
            m = k * (2 if kind == "f4" else 1)
            many = f"{size} of {kind}"
            calls |= {
                f"Bcast {many}": lambda c, m=m, t=kind: c.Bcast(_whole(c, m, t), 0),
                f"Allreduce {many}": lambda c, m=m, t=kind: c.Allreduce(_whole(c, m, t), np.empty(m, t)),
                f"Allgather {many}": lambda c, m=m, t=kind: c.Allgather(_whole(c, m, t), np.empty(n * m, t)),
            }
        calls |= {
            f"Bcast {size} root 1": lambda c, k=k: c.Bcast(_whole(c, k), 1),
            f"Allreduce {size} MAX": lambda c, k=k: c.Allreduce(_whole(c, k), np.empty(k), most),
            f"Alltoall {size}": lambda c, k=k: c.Alltoall(_whole(c, n * k), np.empty(n * k)),
            f"Scan {size}": lambda c, k=k: c.Scan(_whole(c, k), np.empty(k)),
            f"Exscan {size}": lambda c, k=k: c.Exscan(_whole(c, k), np.empty(k)),
            f"Reduce_scatter_block {size}": lambda c, k=k: c.Reduce_scatter_block(_whole(c, n * k), np.empty(k)),
        }
        for root in (0, 1):
            calls |= {
                f"Reduce {size} root {root}": lambda c, k=k, r=root: c.Reduce(_whole(c, k), np.empty(k), root=r),
                f"Gather {size} root {root}": lambda c, k=k, r=root: c.Gather(_whole(c, k), np.empty(n * k), r),
                f"Scatter {size} root {root}": lambda c, k=k, r=root: c.Scatter(_whole(c, n * k), np.empty(k), r),
            }
    return calls


def make(comm, programs, slow=0.2):
    """Make calls one after the other; return the results and the errors as texts. ``slow``: seconds after which it asks."""
    comm.process.waiting.slow = slow
    results = []
    for call in programs:
        try:
            results.append((True, call(comm)))
        except Exception as error:
            results.append((False, f"{type(error).__name__}: {error}"))
    return results


def check_pair(found, differ):
    """Return what is wrong with the results of a pair of calls, and of two calls of ``allreduce(1)`` behind; "" for nothing."""
    if not all(isinstance(each, list) for each in found):
        return f"a rank ended otherwise: {found}"
    errors = [[text for is_well, text in each if not is_well] for each in found]
    if any(len(said) != differ for said in errors):
        return f"not one error at each: {errors}"
    if len({text for said in errors for text in said}) > 1 or not all("Unlike" in text for s in errors for text in s):
        return f"not the same error: {errors}"
    if any(last != (True, len(found)) for *_, last in found):
        return f"the last call is wrong: {found}"
    return ""


def alter(rng, program, names):
    """Return a program of which one call is altered, left out, or doubled, and how."""
    place = rng.randrange(len(program))
    how = rng.choice(["altered", "left out", "doubled"])
    middle = {"altered": [rng.choice(names)], "left out": [], "doubled": [program[place]] * 2}[how]
    return [*program[:place], *middle, *program[place + 1 :]], how


def random_program(seed, n):
    """Return a program of n ranks by names, and that of its odd rank."""
    rng = random.Random(seed)
    names = [name for name in table(n) if "MiB" not in name]
    program = [rng.choice(names) for _ in range(rng.randint(2, 6))]
    odd, how = alter(rng, program, names)
    return program, odd, how, rng.randrange(n)
