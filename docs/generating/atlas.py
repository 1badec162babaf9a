"""The atlas: machines that are known by name, what joins them, what plans take on them, and what one dead cable costs."""

from functools import cache

import treecast
from treecast.networks.machines import machines
from treecast.networks.reading.views import sums

from .markdown import block, cell, code, page, table

_JOBS = {"broadcast": 24, "allgather": 6, "allreduce": 6}
_FEW = 16  # ranks; on more a rank has one message


@cache
def atlas() -> str:
    """Return the page."""
    return page(
        "Atlas of machines",
        "Machines that one can buy, as networks, from public figures. "
        "[What machines print](../machines.md) reads the file of your own.",
        *(_machine(name) for name in machines()),
    )


def _machine(name: str) -> str:
    known, spec = machines()[name], f"machine:{name}"
    where = treecast.network(spec)
    both, _ = sums(where.view)
    kinds = {}
    for (u, v), capacity in zip(both, where.unit.capacities.tolist(), strict=True):
        kinds.setdefault((*sorted([where.view.nodes[u].kind, where.view.nodes[v].kind]), capacity), []).append(
            f"{u}-{v}"
        )
    joined = [
        [
            cell(" to ".join(kind[:2])),
            str(kind[2]),
            str(len(pairs)),
            ", ".join(map(code, pairs[:8])) + " …" * (len(pairs) > 8),
        ]
        for kind, pairs in kinds.items()
    ]
    rows = []
    for collective, many in _JOBS.items():
        if collective == "allreduce" and where.rank_count > _FEW:
            continue  # it takes long
        messages = many if where.rank_count <= _FEW or collective == "broadcast" else 1
        report = treecast.verify(treecast.plan(collective, spec, messages=messages))
        least = max(bound.value for bound in report.bounds if bound.of == "steps")
        dead = _dead(collective, spec, messages, kinds) if collective == "allgather" else []
        rows.append([collective, str(messages), str(report.steps), str(least), ", ".join(dead)])
    return "\n\n".join(
        [
            f"## {name}",
            f"{cell(known.what)}. A capacity of 1 carries {where.chunk_rate * 8 / 1e9:g} Gbit/s. Source: {cell(known.source)}.",
            table(("between", "capacity", "pairs", "which"), joined),
            table(("collective", "messages", "steps", "at least", "with a dead link of capacity 1"), rows),
            block(f"$ treecast networks {spec}", "console"),
        ]
    )


def _dead(collective: str, spec: str, messages: int, kinds: dict) -> list[str]:
    """Return what a job takes without the first cable of the first pair of each kind."""
    found = []
    for (_, _, capacity), pairs in kinds.items():
        link = pairs[0] + ("#0" if capacity > 1 else "")
        steps = treecast.plan(collective, f"{spec} without links {link}", messages=messages).steps
        found.append(f"{steps} ({code(link)})")
    return found
