"""The decorators by which other packages add builders, families of networks, formats and pictures.

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
"""

from treecast.drawing.registry import View, picture
from treecast.formats.registry import Setting, begins_with, exporter, importer
from treecast.networks.family import family
from treecast.plans.built import Built, Job
from treecast.plans.registry import ALL_PORT, Option, builder
from treecast.schedule import Claims, Payloads, Rows

__all__ = [
    "ALL_PORT",
    "Built",
    "Claims",
    "Job",
    "Option",
    "Payloads",
    "Rows",
    "Setting",
    "View",
    "begins_with",
    "builder",
    "exporter",
    "family",
    "importer",
    "picture",
]
