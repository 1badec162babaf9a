"""Price the removal of builders: plan the golden lines without them, and print what is lost.

    python benchmarks/fewer.py spread direct         without both
    python benchmarks/fewer.py --keep list-schedule periods  with these alone
    python benchmarks/fewer.py direct --lines 200            200 lines, drawn by --seed; else all 2,400

A line is a job of tests/golden_steps.txt and the steps that its plan took. Lines that name a builder that is gone are passed
over. A line that takes more than --seconds of processor time counts as out of time.
"""

import argparse
import multiprocessing
import random
import shlex
import signal
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

from treecast.errors import TreecastError
from treecast.plans import all_builders, registry

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that the golden lines are found beside this folder
from tests.test_golden_steps import known, planned


class _Late(Exception):  # noqa: N818
    pass


def keep(names: set[str]) -> None:
    """Leave these builders alone in the registry, and those that run them backwards."""
    all_builders()  # so that all are there
    registry._ENTRIES[:] = [entry for entry in registry._ENTRIES if entry.name in names]
    registry.forget()


def price(line: tuple[str, tuple[int, int]], seconds: float) -> tuple[str, str, float]:
    """Plan a line; return what became of it, a text, and its steps as a ratio to what they were."""
    words, (steps, transmissions) = line
    signal.signal(signal.SIGVTALRM, _ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        made = planned(words)
    except _Late:
        return "out of time", words, 1.0
    except TreecastError as error:
        return "no plan", f"{words}: {str(error)[:90]}", 1.0
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    found = made.steps, made.transmissions
    verdict = "same" if found == (steps, transmissions) else "better" if found < (steps, transmissions) else "worse"
    if verdict == "worse":
        verdict = "more sends" if made.steps == steps else "within 5 %" if made.steps <= 1.05 * steps else "above 5 %"
    text = f"{steps:5} -> {made.steps:5} steps, {transmissions:7} -> {made.transmissions:7} sends  {words}  [{made.builder}]"
    return verdict, text, made.steps / steps


def _ring(*_: object) -> None:
    raise _Late


def main() -> None:
    """Read the command line, plan the lines in as many processes as there are cores, and print losses as they come."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME", help="a builder to do without")
    parser.add_argument("--keep", action="store_true", help="do without all others instead")
    parser.add_argument("--lines", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    asked = parser.parse_args()
    every = {entry.name for entry in all_builders()}
    if unknown := set(asked.names) - every:
        sys.exit(f"no such builder: {', '.join(sorted(unknown))}; there are {', '.join(sorted(every))}")
    names = set(asked.names) if asked.keep else every - set(asked.names)
    lines = [line for line in known().items() if _named(line[0]) <= names]
    random.Random(asked.seed).shuffle(lines)
    lines = lines[: asked.lines or None]
    keep(names)
    count, ratios, begun = Counter[str](), list[float](), time.process_time()
    print(f"{len(names)} of {len(every)} builders, {len(lines)} lines", flush=True)
    with multiprocessing.get_context("fork").Pool() as pool:
        for verdict, text, ratio in pool.imap_unordered(partial(price, seconds=asked.seconds), lines, chunksize=4):
            count[verdict] += 1
            ratios.append(ratio)
            if verdict != "same":
                print(f"{verdict:12} {text}", flush=True)
    print(", ".join(f"{verdict} {number}" for verdict, number in count.most_common()))
    print(
        f"steps: mean ratio {sum(ratios) / len(ratios):.4f}, worst {max(ratios):.2f}; {time.process_time() - begun:.0f} s here"
    )


def _named(words: str) -> set[str]:
    """Return the builder that a line names."""
    parts = shlex.split(words)
    return {parts[parts.index("--builder") + 1]} if "--builder" in parts else set()


if __name__ == "__main__":
    main()
