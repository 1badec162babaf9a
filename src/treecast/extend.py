"""The decorators by which other packages add builders, families of networks, formats, also judged ones, and pictures.

A package names its modules as entry points of the group ``treecast``; they are imported with treecast's own.

.. code-block:: toml

    [project.entry-points.treecast]
    wheels = "my_package.wheels"

Examples
--------
>>> import networkx, treecast
>>> from treecast.extend import family
>>> @family("wheel", "N", example="wheel:6", summary="a ring and its hub")
... def wheel(nodes):
...     return treecast.network(networkx.wheel_graph(nodes))
>>> treecast.plan("broadcast", "wheel:6", survive=2).steps
3

A format whose files list sends and receives is judged by one function that reads them into a ``Reading``: each operation is
added, and what waits for what. ``like="goal"`` gives it the rules of such lists: matching, circles, links, delivery.

>>> from treecast.extend import RECEIVE, SEND, Reading, Told, judge_listed
>>> reading = Reading("mine")
>>> reading.ranks = 2
>>> for rank in range(2):  # both receive before they send
...     first = reading.add((rank, RECEIVE, 1 - rank, 0, 8), rank + 1)
...     reading.wait(reading.add((rank, SEND, 1 - rank, 0, 8), rank + 1), first)
>>> verdict, _ = judge_listed(reading.listed(eager=True), Told())
>>> print(verdict.findings[0].where)
rank 0, line 1 (receive from 1, tag 0)
"""

from treecast.drawing.registry import View, picture
from treecast.formats.operations.judge import judge_listed
from treecast.formats.operations.reading import Reading
from treecast.formats.registry import Setting, Told, begins_with, exporter, importer, judged
from treecast.networks.family import family
from treecast.plans.built import Built, Job
from treecast.plans.registry import ALL_PORT, Option, builder
from treecast.programs.program import RECEIVE, SEND
from treecast.schedule import Claims, Payloads, Rows

__all__ = [
    "ALL_PORT",
    "RECEIVE",
    "SEND",
    "Built",
    "Claims",
    "Job",
    "Option",
    "Payloads",
    "Reading",
    "Rows",
    "Setting",
    "Told",
    "View",
    "begins_with",
    "builder",
    "exporter",
    "family",
    "importer",
    "judge_listed",
    "judged",
    "picture",
]
