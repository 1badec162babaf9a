"""Where the chunks of a schedule lie in the buffers of each GPU: input, output, and scratch by first use."""

from collections import defaultdict
from dataclasses import dataclass, field

from treecast.collectives import Collective
from treecast.errors import FormatError

Place = tuple[str, int]
"""A buffer and an offset."""


@dataclass
class Buffers:
    """The places of the chunks of a collective, whose nodes are the GPUs."""

    collective: Collective
    scratch: "defaultdict[int, dict[int, int]]" = field(default_factory=lambda: defaultdict(dict))

    def __post_init__(self) -> None:
        kind, n = self.collective.traits, self.collective.nodes
        if kind.lengths or kind.targets:
            raise FormatError(
                f"MSCCL has no {self.collective.kind} with blocks of different lengths or chosen targets: plan a scatter, "
                "gather or allgather, or a broadcast"
            )
        self.each = self.collective.messages
        self.sums = self.collective.sums
        self._own = kind.starts == "own"
        self._pairs = kind.blocks == "pair"
        self._shared = kind.adds and kind.ends == "own"  # each has a share of the sums, from place 0
        self._to_all = kind.ends == "all"
        self._to_root = kind.ends == "root"
        self._spread = self._own and self._to_all
        self.loop = self.each * (1 if kind.blocks == "one" else n)
        self.named = {
            ("one", "root", "all"): "broadcast",
            ("node", "own", "all"): "allgather",
            ("pair", "own", "own"): "alltoall",
            ("one", "every", "root"): "reduce",
            ("node", "every", "own"): "reduce_scatter",
            ("one", "every", "all"): "allreduce",
            ("node", "every", "all"): "allreduce",
        }.get((kind.blocks, kind.starts, kind.ends), "custom")

    def sizes(self, gpu: int) -> tuple[int, int, int]:
        """Return how many chunks the input, output and scratch of a GPU have."""
        collective, loop = self.collective, self.loop
        has_input = collective.traits.starts != "root" or gpu == collective.root
        has_output = not self._to_root or gpu == collective.root
        first = self.each if self._spread else loop
        last = self.each if self._shared else loop
        return first * has_input, last * has_output, len(self.scratch[gpu])

    def given(self, gpu: int, chunk: int) -> Place | None:
        """Return where a GPU has a chunk at the beginning, or its contribution to a sum; None where it has none."""
        if self.sums:
            return ("i", chunk) if chunk < self.sums else None
        if int(self.collective.source_of(chunk)) != gpu:
            return None
        return "i", chunk % (self.each if self._spread else self.loop)

    def kept(self, gpu: int, chunk: int) -> Place:
        """Return where a GPU puts a chunk, or a sum and then the finished sum: in its output if it wants it, else in scratch."""
        sums, each = self.sums, self.each
        chunk = chunk - sums if sums and chunk >= sums else chunk
        if self._to_all or (self._to_root and gpu == self.collective.root):
            return "o", chunk
        if not self._to_root and int(self.collective.destination_of(chunk)) == gpu:
            if self._pairs:
                return "o", chunk // each // self.collective.nodes * each + chunk % each
            return "o", chunk % each if self._shared else chunk
        return "s", self.spare(gpu, chunk)

    def spare(self, gpu: int, chunk: int) -> int:
        """Return the place in scratch for something, by first use."""
        places = self.scratch[gpu]
        return places.setdefault(chunk, len(places))

    def copies(self, gpu: int) -> list[tuple[Place, Place, int]]:
        """Return the copies of a GPU from its input to its output: from where, to where, and how many chunks."""
        collective, each, n = self.collective, self.each, self.collective.nodes
        if self.sums:
            return [(("i", 0), ("o", 0), self.loop)] if n == 1 else []
        own = gpu * n * each + gpu * each if self._pairs else gpu * each
        first, count = (0, self.loop) if collective.traits.blocks == "one" else (own, each)
        source, wants = self.given(gpu, first), self._to_all or not self._to_root or gpu == collective.root
        return [(source, self.kept(gpu, first), count)] if source is not None and wants else []
