"""The page of networks: each family, how it is spelled, and what its members are like."""

import inspect

from treecast.networks import families, network

from .markdown import block, cell, code, doc_of, page, table


def networks() -> str:
    """Return the page."""
    every = list(families().values())
    rows = [[code(f.spelling), cell(f.summary), cell(f.nodes), cell(f.degree), cell(f.diameter)] for f in every]
    return page(
        "Networks",
        "`treecast networks` lists the families, and `treecast networks SPELLING` describes a member. "
        "[Graphs of your own](../graphs.md) come from networkx, GraphML, edge lists, matrices and dicts.",
        table(("spelling", "structure", "nodes", "degree", "diameter"), rows),
        *(_family(f) for f in every if f.arguments != "PATH"),
    )


def _family(family: object) -> str:
    where = network(family.example)
    shown = [0, 1, where.nodes - 1]
    figures = [
        [
            "nodes",
            f"{where.nodes:,}"
            + (f", {where.nodes - where.rank_count:,} of them relays" if where.relays is not None else ""),
        ],
        ["ports of a node", f"{where.ports:,}"],
        ["diameter", f"{where.diameter:,}"],
        ["looks alike from every node", "yes" if where.seen_alike else "no"],
        ["labels", ", ".join(code(label) for label in where.labels(shown[:2])) + f" … {code(where.label(shown[2]))}"],
    ]
    kind = type(where)
    about = doc_of(kind) if kind.__module__ == family.make.__module__ else doc_of(inspect.getmodule(family.make))
    return "\n\n".join(
        [
            f"## {family.name}",
            about,
            table((code(family.example), ""), figures),
            block(f"$ treecast networks {family.example}", "console"),
        ]
    )
