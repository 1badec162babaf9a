"""The explorer: one HTML file in which a schedule is looked at and broken, and which replays it by itself.

Its data are the columns of the schedule and the names of its nodes and ports, packed into text. Columns are int32, each as it is
or as differences, whichever is shorter deflated. Behind a header in JSON that lists them they are deflated together and written
in base64; data.js reads them again in the page. A template, a style and the modules of its script are joined around them."""

import base64
import json
import re
import zlib
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

import treecast
from treecast.description import values_of
from treecast.discovery import lacking
from treecast.drawing.places import places_of
from treecast.drawing.registry import View, frame_of, picture
from treecast.drawing.shapes import centre_of
from treecast.drawing.style import short_spec
from treecast.errors import TreecastError
from treecast.lower_bounds import best
from treecast.ragged import starts
from treecast.schedule import Schedule
from treecast.schedule.atoms import cut_into_atoms
from treecast.verification.report import beside_bound
from treecast.verification.verifier import verify

MOST_NODES = 5_000
_MOST_CELLS = 2**24  # nodes x atoms: the page keeps a time for each
_MOST_ROWS = 300_000
_MOST_TABLE = 2**21  # entries of the table of neighbours
Columns = dict[str, NDArray[np.int32]]


def why_none(schedule: Schedule) -> str:
    """Return why there is no explorer of a schedule, as half a sentence, or an empty text."""
    network, rows = schedule.network, len(schedule.rows)
    if network.nodes > MOST_NODES:
        return f"{network.nodes:,} nodes are more than the {MOST_NODES:,} that a page holds; `show --node` prints one node's rows"
    if rows > _MOST_ROWS:
        return f"{rows:,} rows are more than the {_MOST_ROWS:,} that a page holds"
    if network.nodes * network.ports > _MOST_TABLE:
        return f"a table of {network.nodes:,} nodes x {network.ports:,} ports is more than a page holds"
    return ""


def columns_of(schedule: Schedule) -> Columns:
    """Return the columns that a page is made of; of an orbit those of node 0's part.

    Raises TreecastError when there are more runs of chunks than a page holds.
    """
    part = schedule.of_node_zero()
    network, rows, collective = part.network, part.rows, part.collective
    atoms = cut_into_atoms(part)
    if len(atoms) * network.nodes > _MOST_CELLS:
        raise TreecastError(
            f"an explorer holds no {network.nodes:,} nodes x {len(atoms):,} runs of chunks: draw another kind of picture"
        )
    given, wanted = collective.given(), collective.wanted()
    x, y = places_of(network, centre_of(schedule))
    found: dict[str, Any] = {
        **{name: column for name, column in rows.columns().items() if name != "payload"},
        "payload": rows.payload,
        "payloadStart": atoms.start,
        "payloadAtom": atoms.atom,
        "payloadPlace": atoms.place,
        "bounds": atoms.bounds,
        "shift": atoms.shift,
        "source": collective.source_of(atoms.bounds[:-1]),
        "wantedNode": wanted.node,
        "neighbor": network.neighbor_table().T.ravel(),  # a port after the other: the nodes of a port are alike
        "x": x,
        "y": y,
        "relay": [] if network.relays is None else np.flatnonzero(network.relays),
        "answers": part.answers if part.sparing else [],
        **_routes(part),
    }
    found["wantedFirst"], found["wantedStop"] = atoms.spans(wanted)
    if not collective.sums:
        found["givenNode"] = given.node
        found["givenFirst"], found["givenStop"] = atoms.spans(given)
    if part.initiator is not None:
        found["begins"] = [part.initiator, *atoms.of_source(collective, part.initiator)]
    return {name: np.asarray(column).astype(np.int32) for name, column in found.items()}


def _routes(part: Schedule) -> dict[str, Any]:
    """Return the arcs that each row without a port goes over, where the network knows routes."""
    network, rows = part.network, part.rows
    if not (network.routed and part.model.routing) or bool((rows.port >= 0).all()):
        return {}
    route, arc = network.channels(rows.src.astype(np.int64), rows.dst.astype(np.int64))
    order = np.argsort(route, kind="stable")
    return {"routeStart": starts(np.bincount(route, minlength=len(rows))), "routeArc": arc[order]}


def facts_of(schedule: Schedule) -> dict[str, Any]:
    """Return the words of the page: the job, the verdict, and the bounds with formula and source."""
    network, collective, report = schedule.network, schedule.part, verify(schedule)
    bounds = [bound for bound in report.bounds if bound.of in ("steps", "transmissions", "tcd")]
    least = best(bounds, "steps").value if any(bound.of == "steps" for bound in bounds) else 0
    return {
        **values_of(schedule, "builder", "copies", "against", "orbit", "sparing", "command"),
        **values_of(collective, "messages", "chunks", "sums", "results", "shared", "personal"),
        "root": centre_of(schedule),
        **values_of(network, "nodes", "ports"),
        **values_of(report, "transmissions", "holds"),
        "kind": schedule.collective.kind,
        "part": collective.kind,
        "network": network.spec,
        "member": schedule.collective.member,
        "labels": network.labels(np.arange(network.nodes)),
        "model": schedule.model.name,
        "allSource": schedule.collective.all_source,
        "lengths": collective.lengths is not None and collective.demand is None,
        "span": report.steps,
        "beside": beside_bound(report, "steps", report.steps),
        "least": least,
        "rules": [[rule, count] for rule, count in report.counts.items()],
        "violations": [str(violation) for violation in report.violations[:5]],
        "lower": [[bound.of, bound.value, bound.formula, bound.source] for bound in bounds],
        "digest": "" if "treecast.files" in lacking() else treecast.formats.digest_of(schedule),
        "version": treecast.__version__,
    }


def packed(facts: dict[str, Any], columns: Columns) -> str:
    """Return facts and columns as one text in base64."""
    listed, parts = list[tuple[str, int, int]](), list[bytes]()
    for name, column in columns.items():
        little = column.astype("<i4")
        # differences are small where a column ascends, and deflate better
        kept, steps = little.tobytes(), np.diff(little, prepend=np.int32(0)).astype("<i4").tobytes()
        # a quick try tells which is shorter
        differs = len(zlib.compress(steps, 1)) < len(zlib.compress(kept, 1))
        listed.append((name, len(column), int(differs)))
        parts.append(steps if differs else kept)
    header = json.dumps({**facts, "columns": listed}, ensure_ascii=False, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 4)  # int32 columns begin at multiples of 4 bytes
    body = len(header).to_bytes(4, "little") + header + b"".join(parts)
    return base64.b64encode(zlib.compress(body, 9)).decode()


_MOST_KEPT, _MOST_KEPT_ROWS = 300, 5_000
"""The largest schedule whose page is kept in a notebook."""
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([a-z_]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|const) ([\w$]+))", re.MULTILINE)
_COMMENT = re.compile(r"^\s*(?://.*|/\*\*.*\*/)\n", re.MULTILINE)


def _why_no_page(schedule: Schedule, view: View) -> str:
    if view.tree is not None:
        return "a page has all trees: leave out the tree, and choose it there"
    return why_none(schedule)


@picture(
    "explorer",
    of=Schedule,
    into=("html",),
    fits=_why_no_page,
    summary="a page to look at a schedule, break it and see it replayed",
    rank=60,
)
def draw_page(schedule: Schedule, view: View) -> str:
    """Return the page of a schedule; faults of the view are in it from the beginning."""
    return page_of(schedule, view)


def page_of(schedule: Schedule, view: View) -> str:
    """Return one HTML file that shows a schedule and replays it under faults."""
    facts = facts_of(schedule)
    if view.faults:
        ports = schedule.network.ports
        facts["faults"] = {
            "nodes": list(view.faults.nodes.items()),
            "arcs": [(u * ports + port, step) for (u, port), step in view.faults.arcs.items()],
        }
    title = f"{schedule.collective.kind} on {short_spec(schedule.network)}"
    return Template(_read("page.html")).substitute(
        title=escape(title),
        style=_read("style.css").strip(),
        script=joined("main").strip(),
        data=packed(facts, columns_of(schedule)),
    )


@cache
def joined(module: str) -> str:
    """Return a module of the script behind all that it imports, without comments; each is a function, so names stay its own."""
    parts = dict[str, str]()

    def add(name: str) -> None:
        text = _read(f"{name}.js")
        for _, other in _IMPORT.findall(text):
            if other not in parts:
                add(other)  # before what needs it
        exported = ", ".join(found for _, found in _EXPORT.findall(text))
        inner = _COMMENT.sub("", _EXPORT.sub(r"\1", _IMPORT.sub(r"const \1 = \2_js;\n", text))).strip()
        parts[name] = f"const {name}_js = (() => {{\n{inner}\nreturn {{ {exported} }};\n}})();\n"

    add(module)
    return "".join(parts.values())


@cache
def _read(name: str) -> str:
    return files("treecast.drawing.explorer").joinpath(name).read_text("utf-8")


def page_below(result: object) -> str:
    """Return a frame with the page of a schedule for a notebook, or where to find it; nothing of anything else."""
    if not isinstance(result, Schedule):
        return ""
    hint = '<p>treecast.draw(schedule, "plan.html") writes a page that shows it step by step.</p>'
    if result.network.nodes > _MOST_KEPT or len(result.rows) > _MOST_KEPT_ROWS:
        return "" if why_none(result) else hint
    try:
        return frame_of(page_of(result, View()))
    except TreecastError:
        return ""
