"""``treecast help terms``."""

import inspect
import re

from treecast.cli.topics import topic
from treecast.description import Description, Table


@topic
def terms() -> Description:
    """The terms of calls over MPI, over sockets and in PyTorch: who may fail in one, and what becomes of it then."""
    from treecast.running.groups.terms import OVER_MPI, Terms

    said = (inspect.getdoc(Terms) or "").partition("Attributes\n----------\n")[2].partition("\nExamples\n")[0]
    rows = list[tuple[str, ...]]()
    for name, words in re.findall(r"^(\w+) : .*\n((?: {4}.*\n?|\n)+)", said, re.MULTILINE):
        usual, over_mpi = getattr(Terms(), name), getattr(OVER_MPI, name)
        default = repr(usual) if usual == over_mpi else f"{usual!r}; over MPI {over_mpi!r}"
        rows.append((name, default, f"TREECAST_{name.upper()}", " ".join(words.replace("``", "'").split())))
    notes = ("They are keywords of treecast.mpi.wrap, treecast.connect, treecast.tcp.init and treecast.torch.options.",)
    return Table(("term", "usual", "variable", "says"), rows, of="terms").alone(notes)
