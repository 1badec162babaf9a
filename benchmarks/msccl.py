"""How long files of 256 GPUs and a million steps or messages take to judge, and how much memory: a minute and 4 GiB at most.

Two allgathers on a ring: one with fused steps, and one with threadblocks that wait for one another. They have more elements than
a rank reads, which is all that may be wrong with them. Then allgathers on hypercube:8, as CSV, and a smaller one as GOAL.
"""

import resource
import sys
import time
from collections.abc import Iterator

from treecast.files import formats
from treecast.files.formats.msccl.judge import judge
from treecast.files.formats.registry import Told
from treecast.plans import plan
from treecast.verification.verifier import verify

GPUS = 256
SECONDS, GIB = 60, 4


def step(number: int, kind: str, place: tuple[str, int, str, int], wait: int = -1, flag: int = 0) -> str:
    """Return a step; ``wait``: for that step of threadblock 0 of the channel's two."""
    src, at, dst, to = place
    depid = -1 if wait < 0 else wait // 1000
    return (
        f'<step s="{number}" type="{kind}" srcbuf="{src}" srcoff="{at}" dstbuf="{dst}" dstoff="{to}" cnt="1" '
        f'depid="{depid}" deps="{-1 if wait < 0 else wait % 1000}" hasdep="{flag}"/>'
    )


def ring(gpu: int, channels: int, fused: bool) -> Iterator[str]:
    """Yield what a GPU does."""
    yield f'<gpu id="{gpu}" i_chunks="{channels}" o_chunks="{GPUS * channels}" s_chunks="0">'
    after, before = (gpu + 1) % GPUS, (gpu - 1) % GPUS
    came = [(gpu - k) % GPUS * channels for k in range(1, GPUS)]
    for c in range(channels):
        places = [("o", h + c, "o", h + c) for h in came]
        own = ("i", c, "o", gpu * channels + c)
        if fused:
            yield f'<tb id="{c}" send="{after}" recv="{before}" chan="{c}">{step(0, "s", own)}'
            yield from (step(k + 1, "rcs", place) for k, place in enumerate(places[:-1]))
            yield step(GPUS - 1, "r", places[-1]) + "</tb>"
        else:
            yield f'<tb id="{2 * c}" send="-1" recv="{before}" chan="{c}">'
            yield from (step(k, "r", place, flag=1) for k, place in enumerate(places))
            yield f'</tb><tb id="{2 * c + 1}" send="{after}" recv="-1" chan="{c}">{step(0, "s", own)}'
            yield from (step(k + 1, "s", place, wait=2000 * c + k) for k, place in enumerate(places[:-1]))
            yield "</tb>"
    copies = (step(c, "cpy", ("i", c, "o", gpu * channels + c)) for c in range(channels))
    yield f'<tb id="{channels * (1 if fused else 2)}" send="-1" recv="-1" chan="0">{"".join(copies)}</tb></gpu>'


def main() -> int:
    """Judge both files; return 1 when a limit is passed."""
    passed = False
    for fused, channels in ((True, 16), (False, 8)):
        head = (
            f'<algo name="ring" proto="Simple" nchannels="{channels}" nchunksperloop="{GPUS * channels}" ngpus="{GPUS}" '
            'coll="allgather" inplace="0" outofplace="1" minBytes="0" maxBytes="1073741824">'
        )
        data = "\n".join(
            [head, *(line for gpu in range(GPUS) for line in ring(gpu, channels, fused)), "</algo>"]
        ).encode()
        began = time.perf_counter()
        verdict = judge(data, Told())[0]
        seconds = time.perf_counter() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        assert {rule for rule, count in verdict.counts.items() if count} <= {"shape"}, verdict.findings
        passed |= seconds > SECONDS or memory > GIB
        what = "fused steps" if fused else "threadblocks that wait"
        print(
            f"{what}: {verdict.operations:,} steps in {seconds:.1f} s of {SECONDS}, "
            f"{verdict.operations / seconds:,.0f} a second, "
            f"{memory:.2f} GiB of {GIB}"
        )
    return int(passed | judge_messages())


def judge_messages() -> bool:
    """Judge files of single messages; return whether a limit is passed."""
    passed = False
    for to, each in (("csv", 16), ("goal", 2)):
        data = formats.encode(plan("allgather", "hypercube:8", messages=each), to)
        began = time.perf_counter()
        schedule = formats.decode(data)
        assert verify(schedule).holds
        seconds = time.perf_counter() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        passed |= seconds > SECONDS or memory > GIB
        count = schedule.transmissions
        print(
            f"{to}: {count:,} messages in {seconds:.1f} s of {SECONDS}, {count / seconds:,.0f} a second, "
            f"{memory:.2f} GiB of {GIB}"
        )
    return passed


if __name__ == "__main__":
    sys.exit(main())
