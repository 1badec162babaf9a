"""The page itself: a template, a style and the modules of its script joined into one file that needs nothing else."""

import re
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

from treecast.drawing.explorer.data import columns_of, facts_of, packed, why_none
from treecast.drawing.registry import View, frame_of, picture
from treecast.drawing.style import short_spec
from treecast.errors import TreecastError
from treecast.schedule import Schedule

MOST_NODES, MOST_ROWS = 300, 5_000
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
                add(other)
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
    if result.network.nodes > MOST_NODES or len(result.rows) > MOST_ROWS:
        return "" if why_none(result) else hint
    try:
        return frame_of(page_of(result, View()))
    except TreecastError:
        return ""
