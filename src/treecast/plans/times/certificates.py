"""When everything happens in TRANSMISSION-CERTIFICATE, the gather by nodes that are told when to begin.

Communication model: bufferless, over one port or all. Source: Bhatt, Pucci, Ranade & Rosenberg, Theorem 3.
"""

from dataclasses import dataclass

from treecast.errors import PlanError
from treecast.networks.core import Ints
from treecast.schedule.trees import Tree


@dataclass(frozen=True, eq=False)
class Certificates:
    """When everything happens in TRANSMISSION-CERTIFICATE: int64 (N,) by node, -1 where it does not.

    ``token``, ``told``: the step in which a node is sent the token, and the order to begin. ``certificate``: the step in which it
    sends its certificate, which says: ``lag`` steps after I am told I can begin a stream of ``total`` flits without a gap.
    ``start``: the step in which that stream begins to leave. ``first``, ``own``: the places of the stream, and of the node's own
    message, in all that reaches the root. ``done``: the step of the last certificate. ``rest``: the steps behind it.
    """

    token: Ints
    certificate: Ints
    told: Ints
    lag: Ints
    total: Ints
    start: Ints
    first: Ints
    own: Ints
    done: int
    rest: int

    @property
    def tokens(self) -> int:
        """B: the steps of the broadcast of the token."""
        return int(self.token.max(initial=-1)) + 1

    @property
    def steps(self) -> int:
        """The steps of the whole."""
        return self.done + 1 + self.rest

    @property
    def collection(self) -> int:
        """C: the steps from the end of that until the root has all certificates."""
        return self.done + 1 - self.tokens


def certificates(tree: Tree, flits: Ints, ports: str = "one", collect: str = "slots") -> Certificates:
    """Return when everything happens in TRANSMISSION-CERTIFICATE on a tree.

    ``collect``: with ``slots`` a child sends its certificate in steps of its own, which the token names; with ``walk``, as in the
    paper's text, the token goes to the next child when the certificate of the one before has arrived. Children whose
    certificates say 0 flits are not told to begin. Raises PlanError for another way to collect.
    """
    from treecast.schedule.kernels.streams import certificates as found

    if collect not in ("slots", "walk"):
        raise PlanError(f"certificates cannot be collected by {collect!r}: write slots or walk")
    return Certificates(*found(tree.parent, tree.order, *tree.child_lists, flits, ports == "one", collect == "walk"))
