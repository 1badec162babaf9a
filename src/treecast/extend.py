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

from functools import partial

from treecast.faces import homes_in, named

_HOME = homes_in(f"{__file__}i")
__all__ = list(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = partial(named, homes=_HOME, face=__name__)
