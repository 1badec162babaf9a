"""The decorators by which others add networks, machines, collectives, builders, formats and pictures.

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
"""

from typing import Any

from treecast.collectives.kinds import Kind, add_kind
from treecast.drawing.registry import View, picture
from treecast.formats.registry import Exporter, Importer, Setting, Told, begins_with, exporter, importer, judged
from treecast.models import MODELS, Model
from treecast.networks.family import Family, family
from treecast.plans.built import Built, Job
from treecast.plans.registry import ALL_PORT, Builder, Option, builder
from treecast.programs.verdict import FileVerdict
from treecast.schedule import Claims, Payloads, Rows

__all__ = [
    "ALL_PORT",
    "Builder",
    "Built",
    "Claims",
    "Exporter",
    "Family",
    "FileVerdict",
    "Importer",
    "Job",
    "Option",
    "Payloads",
    "Rows",
    "Setting",
    "Told",
    "View",
    "begins_with",
    "builder",
    "collective",
    "exporter",
    "family",
    "importer",
    "judged",
    "machine",
    "picture",
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
