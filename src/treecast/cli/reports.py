"""How the findings of each verb are laid out: as JSON, or as lines that people read, the verdict first."""

import sys
from dataclasses import asdict

import numpy as np

from treecast.cli import console
from treecast.collectives import Collective
from treecast.drawing.text.completion import completion_text
from treecast.execution.election import Election
from treecast.execution.local import Execution
from treecast.formats.native import text
from treecast.lower_bounds import LEAST_OF_ALL, Bound, best
from treecast.lower_bounds import bounds as lower_bounds
from treecast.machine import Model
from treecast.networks import FAMILIES, Cayley, Network
from treecast.papers import Finding
from treecast.plans import all_builders, builders, one_tree_steps, plan, single_tree_steps
from treecast.schedule import Schedule
from treecast.simulation.bit_replay import Gossip
from treecast.simulation.faults import Sweep
from treecast.simulation.replay import Trace
from treecast.steps import NEVER
from treecast.verification.report import Report, figures
from treecast.verification.verifier import verify

_MANY_NODES = 130  # with more, only those are shown that are dead or lack something
_MANY_ROWS = 200
_MANY_PORTS = 12
_MOST_PLANNED = 4096  # nodes of a network on which bounds are held against what is planned


def show_report(
    schedule: Schedule, report: Report, as_json: bool, sweep: Sweep | None = None, with_baseline: bool = False
) -> None:
    """Print what the verifier says, and a sweep of fault sets, and how a single tree would do."""
    baseline = _single_tree(schedule) if with_baseline else 0
    if as_json:
        found = figures(schedule, report)
        if baseline and schedule.steps and not report.model.routing:
            found |= {"single_tree_steps": baseline, "speed_up": round(baseline / schedule.steps, 4)}
        console.show_json(found | ({} if sweep is None else _sweep_figures(schedule, sweep)))
        return
    lines: dict[str, object] = {"verified": _verdict(report)}
    if sweep is not None:
        lines["faults"] = _sweep_words(schedule, sweep)
    lines |= _job(schedule)
    lines["model"] = report.model.name
    if schedule.builder:
        lines["builder"] = schedule.builder
    if schedule.trees:
        lines["trees"] = f"{schedule.trees:,}, the deepest of depth {report.depth:,}"
    for what, measured in (("steps", report.steps), ("transmissions", report.transmissions)):
        lines[what] = [f"{measured:,}{_ratio(report, what, measured)}", *_bound_words(report.bounds, what)]
    if report.distance is not None:
        said = _distance_words(schedule.collective.kind, report)
        lines["total distance"] = [said, *_bound_words(report.bounds, "tcd")]
    if report.depth_contention is not None:
        lines["depth contention"] = (
            f"{_count(report.depth_contention, 'pair')}: messages that may meet where steps are not synchronised"
        )
    if baseline and schedule.steps and not report.model.routing:
        weak = ", survives no fault" if schedule.copies > 1 else ""
        lines["speed-up"] = f"{baseline / schedule.steps:.4g} over a single tree ({baseline:,} steps{weak})"
    lines["seconds"] = report.seconds
    console.show_figures(lines)


def _single_tree(schedule: Schedule) -> int:
    """Return the steps over the best single tree, of what goes over several; 0 where that says nothing."""
    if schedule.collective.lengths is not None:
        return one_tree_steps(schedule) if schedule.trees > 1 else 0
    return single_tree_steps(schedule.network, schedule.collective)


def _verdict(report: Report) -> list[str]:
    kept = ", ".join(rule for rule, count in report.counts.items() if not count)
    if report:
        return [f"yes, {report.method}: {kept}"]
    broken = ", ".join(f"{rule} is broken {_times(count)}" for rule, count in report.counts.items() if count)
    shown = [f"{violation.rule}: {violation.text}" for violation in report.violations]
    more = sum(report.counts.values()) - len(shown)
    return [f"NO: {broken}", *shown, *([f"and {more:,} more"] if more else []), f"kept: {kept or 'no rule'}"]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _ratio(report: Report, what: str, measured: int) -> str:
    if not report.bounds:
        return ""
    bound = best(list(report.bounds), what).value
    return ", the lower bound" if measured == bound else f", {measured / bound:.4g} x the lower bound" if bound else ""


def _distance_words(kind: str, report: Report) -> str:
    """Return the total distance, and what it is to the bounds, which speak of schedules in the fewest steps."""
    distance, bounds = report.distance or 0, list(report.bounds)
    if not report or not bounds:
        return f"{distance:,}"
    if report.steps > best(bounds, "steps").value:
        return f"{distance:,}, in more than the fewest steps"
    least = best(bounds, "tcd").value
    gap = distance - least
    if not gap:
        return f"{distance:,}: the minimum, as no {kind} in the fewest steps can do with less"
    if any(LEAST_OF_ALL in bound.formula and bound.value == least for bound in bounds):
        return f"{distance:,}: {gap:,} above the minimum"
    return f"{distance:,}: {gap:,} above the bound; whether it is the minimum is not known"


def _bound_words(bounds: tuple[Bound, ...], what: str) -> list[str]:
    return [f"at least {b.value:,} = {b.formula}  ({b.source})" for b in bounds if b.of == what]


def _sweep_figures(schedule: Schedule, sweep: Sweep) -> dict[str, object]:
    found: dict[str, object] = {
        "sweep": {
            "kind": sweep.kind, "most": sweep.most, "sets": sweep.sets, "exhaustive": sweep.exhaustive,
            "failing": sweep.failing, "seconds": round(sweep.seconds, 6),
        }
    }  # fmt: skip
    if sweep.counterexample is not None:
        found["counterexample"] = {
            "faults": sweep.counterexample.describe(schedule.network),
            "node": schedule.network.label(sweep.node), "chunk": sweep.chunk,
        }  # fmt: skip
    return found


def _sweep_words(schedule: Schedule, sweep: Sweep) -> list[str]:
    size = f"{sweep.most} {sweep.kind.replace('+', ' and ')}"
    tried = f"{'every set of at most' if sweep.exhaustive else 'random sets of'} {size}"
    if sweep.counterexample is None:
        return [f"survives {tried}: {sweep.sets:,} sets"]
    dead = _few(sweep.counterexample.describe(schedule.network))
    verb = "fails" if len(sweep.counterexample) == 1 else "fail"
    lost = f"when {dead} {verb}, {schedule.network.label(sweep.node)} never gets chunk {sweep.chunk}"
    return [f"does NOT survive {tried}: {lost}", f"{sweep.failing:,} of the {sweep.sets:,} sets tried fail"]


def _job(schedule: Schedule) -> dict[str, object]:
    """Return the lines that say what is done, and where."""
    what, where = schedule.collective, schedule.network
    source = "of every node" if what.all_source else f"{what.direction} {where.label(what.root)}"
    faults = schedule.copies - 1
    survives = f"any {faults} fault{'s' if faults > 1 else ''}" if faults else "no fault"
    return {
        "collective": f"{what.kind} of {_load(what)} {source}",
        "network": f"{where.spec}, {_count(where.nodes, 'node')}",
        "copies": f"{schedule.copies:,}, to survive {survives}",
    }


def _load(what: Collective) -> str:
    if what.lengths is None:
        return _count(what.messages, "message")
    null = int((what.lengths.flits == 0).sum()) - 1
    return f"{_count(what.nodes - 1, 'message')}, {null:,} of them null, {_count(what.lengths.total, 'flit')} in all,"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _job_figures(schedule: Schedule, report: Report) -> dict[str, object]:
    return {
        "collective": schedule.collective.kind, "network": schedule.network.spec, "model": report.model.name,
        "nodes": schedule.network.nodes, "root": schedule.network.label(schedule.collective.root),
        "messages": schedule.collective.messages, "copies": schedule.copies, "survives": schedule.copies - 1,
        "verified": report.holds, "method": report.method,
    }  # fmt: skip


def show_trace(trace: Trace, report: Report, time: float | None, as_json: bool) -> None:
    """Print what a replay under faults delivered, and when."""
    network, living = trace.schedule.network, int(trace.living.sum())
    lost = [{"node": network.label(node), "chunks": _range(a, b)} for node, a, b in trace.lost]
    busiest_arc, busiest_node = int(trace.arc_load().max(initial=0)), int(trace.node_load().max(initial=0))
    if as_json:
        done = trace.completion.tolist()
        console.show_json({
            **_job_figures(trace.schedule, report), "faults": trace.faults.describe(network), "living": living,
            "delivered": trace.delivered, "lost": lost, "steps": trace.steps, "transmissions": trace.transmissions,
            "busiest_arc": busiest_arc, "busiest_node": busiest_node, **({} if time is None else {"time": time}),
            "complete_from_step": {network.label(u): None if at == NEVER else at for u, at in enumerate(done)},
        })  # fmt: skip
        return
    lines = _delivery(trace.delivered, living, lost, trace.faults.describe(network)) | _job(trace.schedule)
    lines["steps"] = trace.steps
    lines["transmissions"] = (
        f"{trace.transmissions:,}, at most {busiest_arc:,} over one arc, {busiest_node:,} from one node"
    )
    if time is not None:
        lines["time"] = f"{time:.6g} s"
    console.show_figures(lines)
    console.show_text("\n" + completion_text(trace))


def show_gossip(found: Gossip, report: Report, time: float | None, as_json: bool) -> None:
    """Print what a replay with a bit per source delivered, and the longest messages."""
    schedule, network = found.schedule, found.schedule.network
    living = network.nodes - len(found.faults.nodes)
    lacking = [(network.label(v), int(found.missing[v])) for v in np.flatnonzero(found.missing)[:10].tolist()]
    if as_json:
        console.show_json({
            **_job_figures(schedule, report), "faults": found.faults.describe(network), "living": living,
            "delivered": found.delivered, "lost": [{"node": node, "sources": count} for node, count in lacking],
            "steps": found.steps, "transmissions": found.transmissions, "message_sizes": found.sizes.tolist(),
            **({} if time is None else {"time": time}),
        })  # fmt: skip
        return
    lines = _delivery(found.delivered, living, [], found.faults.describe(network)) | _job(schedule)
    if lacking:
        lines["lost"] = [f"{node} lacks the messages of {count:,} living nodes" for node, count in lacking]
    lines |= {"steps": found.steps, "transmissions": found.transmissions}
    lines["message sizes"] = " ".join(f"{size:,}" for size in found.sizes.tolist())
    if time is not None:
        lines["time"] = f"{time:.6g} s"
    console.show_figures(lines)


def _delivery(delivered: int, living: int, lost: list[dict[str, str]], faults: list[str]) -> dict[str, object]:
    verdict = f"everything to all {living:,} living nodes"
    if delivered < living:
        verdict = f"NOT to all: {living - delivered:,} of {living:,} living nodes lack something"
    lines: dict[str, object] = {"delivered": verdict}
    if lost:
        shown = [f"{item['node']} lacks {item['chunks']}" for item in lost[:10]]
        lines["lost"] = shown + ([f"and {len(lost) - 10:,} more"] if len(lost) > 10 else [])
    lines["faults"] = _few(faults)
    return lines


def _few(words: list[str]) -> str:
    return ", ".join(words[:20]) + (f" and {len(words) - 20:,} more" if len(words) > 20 else "") or "none"


def _range(first: int, stop: int) -> str:
    return str(first) if stop == first + 1 else f"{first}-{stop - 1}"


def show_execution(done: Execution, report: Report, name: str, as_json: bool) -> None:
    """Print what a run with real data delivered, node by node."""
    schedule, intact = done.schedule, set(done.intact)
    label, dead = schedule.network.label, done.faults.nodes
    nodes = [
        (label(u), "dead" if u in dead else "intact" if u in intact else "INCOMPLETE", digest, done.by_tree(u),
         [] if u in dead else [_range(a, b) for a, b in done.lost(u)])
        for u, digest in enumerate(done.digests)
    ]  # fmt: skip
    faults = done.faults.describe(schedule.network)
    lost = [{"node": node, "chunks": chunks} for node, *_, ranges in nodes for chunks in ranges]
    if as_json:
        console.show_json({
            **_job_figures(schedule, report), "input": name, "bytes": done.size, "sha256": done.digest,
            "faults": faults, "living": len(done.living), "delivered": len(intact), "lost": lost,
            "steps": done.steps, "transmissions": done.transmissions, "seconds": round(done.seconds, 6),
            "node_reports": [
                {"node": node, "verdict": verdict, "sha256": digest, "true_sha256": true,
                 "by_tree": {str(t): c for t, c in by_tree.items()}, "lost": ranges}
                for (node, verdict, digest, by_tree, ranges), true in zip(nodes, done.true_digests, strict=True)
            ],
        })  # fmt: skip
        return
    console.show_figures({
        **_delivery(len(intact), len(done.living), lost, faults), "input": f"{name}, {_count(done.size, 'byte')}",
        "sha256": done.digest, **_job(schedule), "steps": done.steps, "transmissions": done.transmissions,
        "seconds": done.seconds,
    })  # fmt: skip
    shown = nodes if len(nodes) <= _MANY_NODES else [node for node in nodes if node[1] != "intact"][:_MANY_NODES]
    rows = [
        (node, verdict, (digest or "")[:16], " ".join(f"{t}:{c}" for t, c in by_tree.items()), _few(ranges) if ranges else "")
        for node, verdict, digest, by_tree, ranges in shown
    ]  # fmt: skip
    console.show_text("")
    console.show_table(
        ["node", "verdict", "sha256 …", "tree:chunks", "lacks"],
        rows,
        {"intact": "green", "dead": "dim", "INCOMPLETE": "bold red"},
    )
    if len(shown) < len(nodes):
        console.show_text(f"and {len(nodes) - len(shown):,} other nodes: --json lists them")


def show_election(election: Election, report: Report, name: str, as_json: bool) -> None:
    """Print what the nodes elected when some altered what they passed on, node by node."""
    schedule, network, liars = election.schedule, election.schedule.network, election.liars.nodes
    right, fooled = set(election.right), set(election.fooled)
    nodes = [
        (network.label(u), "lies" if u in liars else "right" if u in right else "FOOLED" if u in fooled else "UNDECIDED",
         digest, *([_range(a, b) for a, b in chunks] for chunks in (election.fooled_chunks(u), election.undecided_chunks(u))))
        for u, digest in enumerate(election.digests)
    ]  # fmt: skip
    described = election.liars.describe(network)
    if as_json:
        console.show_json({
            **_job_figures(schedule, report), "input": name, "bytes": election.size, "sha256": election.digest,
            "liars": described, "tolerates": election.tolerates, "honest": len(election.honest), "right": len(right),
            "fooled": [network.label(u) for u in election.fooled],
            "undecided": [network.label(u) for u in election.undecided],
            "steps": election.steps, "transmissions": election.transmissions, "altered": election.altered,
            "seconds": round(election.seconds, 6),
            "node_reports": [
                {"node": node, "verdict": verdict, "sha256": digest, "true_sha256": true, "fooled": wrong, "undecided": open_}
                for (node, verdict, digest, wrong, open_), true in zip(nodes, election.true_digests, strict=True)
            ],
        })  # fmt: skip
        return
    honest = len(election.honest)
    lines: dict[str, object] = {"elected": f"the right data at all {honest:,} honest nodes"}
    if len(right) < honest:
        wrong = f"{len(fooled):,} fooled, {len(election.undecided):,} undecided"
        lines["elected"] = f"NOT the right data at {honest - len(right):,} of {honest:,} honest nodes: {wrong}"
    lines["liars"] = _few(described)
    lines["tolerates"] = (
        f"any {_count(election.tolerates, 'liar')}: more than half of {schedule.copies:,} copies decide"
    )
    if not election.tolerates:
        lines["tolerates"] = f"no liar: {'1 copy' if schedule.copies == 1 else '2 copies'} cannot outvote one"
    console.show_figures({
        **lines, "input": f"{name}, {_count(election.size, 'byte')}", "sha256": election.digest, **_job(schedule),
        "steps": election.steps, "transmissions": f"{election.transmissions:,}, {election.altered:,} of them altered",
        "seconds": election.seconds,
    })  # fmt: skip
    shown = nodes if len(nodes) <= _MANY_NODES else [node for node in nodes if node[1] != "right"][:_MANY_NODES]
    console.show_text("")
    console.show_table(
        ["node", "verdict", "sha256 …", "wrong", "undecided"],
        [(n, verdict, digest[:16], *(_few(r) if r else "" for r in chunks)) for n, verdict, digest, *chunks in shown],
        {"right": "green", "lies": "dim", "FOOLED": "bold red", "UNDECIDED": "bold red"},
    )
    if len(shown) < len(nodes):
        console.show_text(f"and {len(nodes) - len(shown):,} other nodes: --json lists them")


def show_bounds(network: Network, collective: Collective, copies: int, model: Model, as_json: bool) -> None:
    """Print the lower bounds of a job; under wormhole switching also what the default builder reaches, and the gap."""
    found = lower_bounds(network, collective, copies, model)
    reached = _reached(network, collective, model)
    if as_json:
        console.show_json({
            "collective": collective.kind, "network": network.spec, "model": model.name, "nodes": network.nodes,
            "root": network.label(collective.root), "messages": collective.messages, "copies": copies,
            "survives": copies - 1, "steps_lower_bound": best(found, "steps").value,
            "transmissions_lower_bound": best(found, "transmissions").value, "bounds": [asdict(b) for b in found],
            **({} if reached is None else _gap_figures(*reached)),
        })  # fmt: skip
        return
    named = {"steps": "steps", "transmissions": "transmissions", "tcd": "total distance"}
    of = {bound.of for bound in found}
    lines: dict[str, object] = {name: _bound_words(tuple(found), what) for what, name in named.items() if what in of}
    if reached is not None:
        schedule, report = reached
        said = _distance_words(collective.kind, report)
        lines[f"by {schedule.builder}"] = (
            said
            if report
            else f"{said}, but that breaks a rule: {', '.join(rule for rule, count in report.counts.items() if count)}"
        )
    console.show_figures(lines)


def _reached(network: Network, collective: Collective, model: Model) -> tuple[Schedule, Report] | None:
    """Return what the default builder makes of a job under wormhole switching, judged, where there is one for it."""
    kind, name = collective.kind, model.name.partition(",")[0]
    known = [b for b in builders(kind, network) if name in b.models]
    if not model.routing or not known or network.nodes > _MOST_PLANNED or network.nodes == 1:
        return None
    root, messages, targets = collective.root, collective.messages, collective.targets
    schedule = plan(kind, network, root=root, messages=messages, model=name, targets=targets)
    return schedule, verify(schedule, model)


def _gap_figures(schedule: Schedule, report: Report) -> dict[str, object]:
    found = figures(schedule, report)
    return {key: found[key] for key in ("builder", "verified", "tcd", "tcd_lower_bound", "gap", "minimal")}


def show_rows(schedule: Schedule, every: bool, as_json: bool) -> None:
    """Print rows as they stand in a file; in a terminal not too many of them, unless asked for."""
    if as_json:
        console.show_json(_row_figures(schedule))
        return
    shown = len(schedule) if every or not console.is_terminal(sys.stdout) else min(len(schedule), _MANY_ROWS)
    for line in text.lines(schedule.select(slice(0, shown))):
        console.show_text(line)
    if shown < len(schedule):
        console.say(f"and {len(schedule) - shown:,} more rows: --all shows them")


def _row_figures(schedule: Schedule) -> list[dict[str, object]]:
    rows, label = schedule.rows, schedule.network.label
    chunks = [[(a, b - 1) for a, b in rows.payloads.ranges(p)] for p in range(len(rows.payloads))]
    return [
        {"step": step, "steps": steps, "src": label(src), "dst": label(dst), "port": port, "tree": tree, "chunks": chunks[p]}
        for step, steps, src, dst, port, tree, p in zip(*(c.tolist() for c in rows.columns().values()), strict=True)
    ]  # fmt: skip


def show_theorems(found: list[Finding], as_json: bool) -> None:
    """Print what became of every statement."""
    if as_json:
        console.show_json([asdict(finding) for finding in found])
        return
    for finding in found:
        verdict = "holds" if finding.holds else "FALSE"
        detail = f"  {finding.detail}" if finding.detail else ""
        console.show_text(f"{verdict}  {finding.name:<12}  {finding.checked:<11} {finding.seconds:8.2f} s{detail}")
        console.show_text(f"       {finding.says}")


def show_families(as_json: bool) -> None:
    """Print how each family of networks is spelled."""
    rows = [(family.spelling, family.example, family.what) for family in FAMILIES.values()]
    if as_json:
        console.show_json([dict(zip(("spelling", "example", "what"), row, strict=True)) for row in rows])
    else:
        console.show_table(["spelling", "example", "what"], rows)


def show_network(network: Network, as_json: bool) -> None:
    """Print the figures of one network."""
    names = [network.port_name(p) for p in range(min(network.ports, _MANY_PORTS))]
    plans = sorted({kind for b in all_builders() if not b.on(network) for kind in b.kinds})
    found: dict[str, object] = {
        "network": network.spec, "nodes": network.nodes, "degree": network.degree, "diameter": network.diameter,
        "arcs": network.arcs, "ports": network.ports, "port_names": names,
        "first_node": network.label(0), "last_node": network.label(network.nodes - 1),
        "translations": isinstance(network, Cayley), "plans": plans,
    }  # fmt: skip
    if as_json:
        console.show_json(found)
        return
    ports = ", ".join(names) + (f" and {network.ports - len(names):,} more" if network.ports > len(names) else "")
    found |= {"ports": ports or "none", "translations": isinstance(network, Cayley), "plans": ", ".join(plans)}
    console.show_figures({name.replace("_", " "): value for name, value in found.items() if name != "port_names"})
