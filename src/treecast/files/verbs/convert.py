"""``treecast convert``."""

from typing import Annotated

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.arguments import BrokenOptions, Spec
from treecast.errors import FormatError


def convert(
    network: Spec,
    /,
    *,
    output: Annotated[str, Parameter(alias="-o", allow_leading_hyphen=True)],
    broken: BrokenOptions = BrokenOptions(),
) -> int:
    """Write a network as GraphML or DOT: that of a machine's file, or any other.

    Example: treecast convert fabric.ibnetdiscover -o net.graphml

    Parameters
    ----------
    output
        The file to write, whose name ends in .graphml or .dot; - is standard output, for GraphML.
    """
    from treecast.files.formats.graphs import dot_of, graphml_of
    from treecast.writing import write_whole

    where = broken.read(network)
    if output == "-":
        console.show_text(graphml_of(where).decode())
        return 0
    writers = {".graphml": graphml_of, ".dot": dot_of}
    ending = next((ending for ending in writers if output.endswith(ending)), "")
    if not ending:
        raise FormatError(f"{output!r} is no name for a network: let it end in {' or '.join(writers)}")
    write_whole(output, writers[ending](where))
    console.wrote(output, f", {where.nodes:,} nodes")
    return 0
