"""The decorators by which others add networks, machines, collectives, builders, formats, also judged ones, and pictures.

A package names its modules as entry points of the group ``treecast``; they are imported with treecast's own. A single file needs
no package: ``treecast plan … --plugin wheels.py``, or ``TREECAST_PLUGINS=wheels.py``.

.. code-block:: toml

    [project.entry-points.treecast]
    wheels = "my_package.wheels"

``treecast.testing`` checks what was added.

Examples
--------
>>> import networkx, treecast
>>> from treecast.extend import family
>>> @family("wheel", "N", example="wheel:6", summary="a ring and its hub", nodes="N", degree="N - 1", diameter="2")
... def wheel(nodes):
...     return treecast.network(networkx.wheel_graph(nodes))
>>> treecast.plan("broadcast", "wheel:6", survive=2).steps
3
>>> from treecast.testing import check_network
>>> check_network("wheel")

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

A format with threads, signals and buffers makes a ``Program`` itself: ``find_order`` takes its ``Counts``, ``Uses`` judges who
uses a place when, a ``Judged`` gathers the ``Findings`` of both, and ``rule`` registers rules of the format's own.
"""

from typing import Any

from treecast.collectives.kinds import Kind, add_kind
from treecast.drawing.registry import View, picture
from treecast.files.formats.judging import judge_listed
from treecast.files.formats.operations import Reading
from treecast.files.formats.registry import Exporter, Importer, Setting, Told, begins_with, exporter, importer, judged
from treecast.files.programs.judge import Judged
from treecast.files.programs.order import find_order, find_pairs, judge_order, judge_pairs
from treecast.files.programs.program import RECEIVE, SEND, Counts, Program
from treecast.files.programs.races import Use, Uses
from treecast.files.programs.rules import rule
from treecast.files.programs.verdict import FileVerdict, Findings
from treecast.models import MODELS, Model
from treecast.networks.family import Family, family
from treecast.plans.built import Built, Job
from treecast.plans.registry import ALL_PORT, Builder, Option, builder
from treecast.schedule import Claims, Payloads, Rows

__all__ = [
    "ALL_PORT",
    "RECEIVE",
    "SEND",
    "Builder",
    "Built",
    "Claims",
    "Counts",
    "Exporter",
    "Family",
    "FileVerdict",
    "Findings",
    "Importer",
    "Job",
    "Judged",
    "Option",
    "Payloads",
    "Program",
    "Reading",
    "Rows",
    "Setting",
    "Told",
    "Use",
    "Uses",
    "View",
    "begins_with",
    "builder",
    "collective",
    "exporter",
    "family",
    "find_order",
    "find_pairs",
    "importer",
    "judge_listed",
    "judge_order",
    "judge_pairs",
    "judged",
    "machine",
    "picture",
    "rule",
]


def machine(name: str, **powers: Any) -> Model:
    """Add a machine under a name, as ``--model`` takes it, and return it; ``powers`` are those of ``treecast.Model``.

    Raises PlanError as ``treecast.Model`` does.
    """
    MODELS[name] = Model(name, **powers)
    return MODELS[name]


def collective(name: str, blocks: Any, starts: Any, ends: Any, summary: str, **more: Any) -> Kind:
    """Add a kind of collective, a row of the table, and return it.

    Who has what before the first step, and who wants it after the last, is said by ``blocks`` (``one``, ``node``, ``pair``),
    ``starts`` (``root``, ``own``, ``every``) and ``ends`` (``root``, ``own``, ``all``, ``targets``); ``more`` are other fields of
    Kind.
    """
    return add_kind(Kind(name, blocks, starts, ends, summary, **more))
