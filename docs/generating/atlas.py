"""The atlas: machines that are known by name, what joins them, what plans take on them, and what one dead cable costs."""

from functools import cache

import treecast
from treecast.networks.machines import machines
from treecast.networks.reading.views import sums

from .markdown import block, cell, code, page, table

_JOBS = {"broadcast": 24, "allgather": 6, "reduce-scatter": 6, "allreduce": 6, "alltoall": 1}
_FEW, _MOST = 16, 128  # ranks: on more one message each, and broadcasts alone
_DRAWN = 64  # nodes of a machine of which there is a picture


@cache
def atlas() -> str:
    """Return the page."""
    return page(
        "Atlas of machines",
        "Machines that one can buy, as networks, from public figures. "
        "[Files that machines print](../machines.md) reads the file of your own.",
        *(_machine(name) for name in machines()),
        _slices(),
    )


def _slices() -> str:
    """Return the steps of jobs on slices of TPU v4, plain and twisted."""
    rows = []
    for spec in ("torus:4x4x4", "torus:4x4x8", "torus:4x4x8,twisted", "torus:4x8x8", "torus:4x8x8,twisted"):
        reports = [treecast.verify(treecast.plan(job, spec)) for job in ("broadcast", "allgather", "alltoall")]
        least = [max(bound.value for bound in report.bounds if bound.of == "steps") for report in reports]
        steps = [f"{each.steps}, at least {bound}" for each, bound in zip(reports, least, strict=True)]
        rows.append([code(spec), str(reports[0].schedule.network.diameter), *steps])
    return "\n\n".join(
        [
            "## TPU v4",
            "A slice of TPU v4 is a torus of chips; its wrap-around links may be twisted where sides of n and of 2n meet. "
            "A capacity of 1 carries 400 Gbit/s. Source: Jouppi et al., TPU v4: an optically reconfigurable supercomputer, "
            "ISCA 2023.",
            table(("slice", "diameter", "broadcast", "allgather", "alltoall"), rows),
        ]
    )


def graphs() -> dict[str, str]:
    """Return pictures of a broadcast on each machine that is not too large, as SVG: NAME, and NAME-dark."""
    found = {}
    for name in machines():
        where = treecast.network(f"machine:{name}")
        if where.nodes <= _DRAWN:
            plan = treecast.plan("broadcast", where)
            for more, look in ("", treecast.Look()), ("-dark", treecast.Look(dark=True)):
                found[name + more] = treecast.draw(plan, kind="network", look=look)
    return found


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
        if collective != "broadcast" and where.rank_count > _MOST:
            continue
        messages = many if where.rank_count <= _FEW or collective == "broadcast" else 1
        report = treecast.verify(treecast.plan(collective, spec, messages=messages))
        least = max(bound.value for bound in report.bounds if bound.of == "steps")
        dead = _dead(collective, spec, messages, kinds) if collective == "allgather" else []
        rows.append([collective, str(messages), str(report.steps), str(least), ", ".join(dead)])
    drawn = f"```{{image}} atlas/{name}.svg\n:alt: a broadcast on {name}\n```" if where.nodes <= _DRAWN else ""
    return "\n\n".join(
        [
            f"## {name}",
            f"{cell(known.summary)}. A capacity of 1 carries {where.chunk_rate * 8 / 1e9:g} Gbit/s. "
            f"Source: {cell(known.source)}.",
            *filter(None, [drawn]),
            table(("between", "capacity", "pairs", "which"), joined),
            table(("collective", "messages", "steps", "at least", "with a dead link of capacity 1"), rows),
            block(f"$ treecast networks {spec}", "console"),
        ]
    )


def _dead(collective: str, spec: str, messages: int, kinds: dict) -> list[str]:
    """Return the steps of a job without the first cable of the first pair of each kind."""
    found = []
    for (_, _, capacity), pairs in kinds.items():
        link = pairs[0] + ("#0" if capacity > 1 else "")
        steps = treecast.plan(collective, f"{spec} without links {link}", messages=messages).steps
        found.append(f"{steps} ({code(link)})")
    return found
