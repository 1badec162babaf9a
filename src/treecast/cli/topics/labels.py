"""How nodes are written: the labels of each family."""

from treecast.description import Description, Table


def topic() -> Description:
    """Return the labels of an example of each family that has one."""
    from treecast.networks import families, network

    rows = list[tuple[str, str, str]]()
    for family in families().values():
        if family.arguments == "PATH":
            continue
        where = network(family.example)
        shown = [0, 1, 2, where.nodes - 1]
        rows.append(
            (family.spelling, family.example, " ".join(where.labels(shown[:3])) + f" … {where.label(shown[3])}")
        )
    columns = ("network", "for example", "its nodes")
    notes = (
        "A node may also be written as its number, from 0 to N - 1. A text that could be both is a label.",
        "Several nodes: spaces between them. NODE@STEP: from that step on.",
        "Links: A-B both ways, 'A>B' one way (in quotes), A-B#0 the first of parallel cables.",
        "Less its broken parts: 'torus:4x4 without links 0,0-0,1 nodes 3,3', or --cut-links and --dead-nodes.",
    )
    return Table(columns, rows, of="families").alone(notes)
