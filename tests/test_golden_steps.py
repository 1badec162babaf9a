"""No plan takes more steps than it once did, nor more transmissions in as many steps.

Each line of golden_steps.txt is what a plan took, and the words of ``treecast plan`` that plan it. When plans get better,
``python -m tests.test_golden_steps FILE`` plans what is known, and the jobs of a file with such words, and keeps the better of
old and new.
"""

import shlex
import sys
from pathlib import Path
from zlib import crc32

import pytest

import treecast
from treecast.errors import TreecastError

GOLDEN = Path(__file__).parent / "golden_steps.txt"
EACH = 48  # of the lines is tried by the quick tests; the slow ones try as many others
HEAVY = (
    "torus:4x4x4",
    "fat-tree",
    "dragonfly",
    "random-regular",
    "petersen --model one-port,half",
    "star:4",
    "star:5",
    "star:6",
    "star:7",
)


def planned(words):
    """Return the plan of a job written as ``broadcast ring:8 --messages 8``."""
    collective, network, *rest = shlex.split(words)
    options = {}
    for name, *values in (each.split() for each in " ".join(rest).split("--") if each):
        value = " ".join(values)
        read = int(value) if value.isdecimal() else value or True
        if name == "targets":
            read = values
        if name == "lengths" and "," in value:
            read = [int(length) for length in value.split(",")]
        options[name.replace("-", "_")] = read
    return treecast.plan(collective, network, **options)


def known():
    """Return (steps, transmissions) of each job, by its words."""
    found = {}
    for line in GOLDEN.read_text().splitlines():
        steps, transmissions, words = line.split(maxsplit=2)
        found[words] = int(steps), int(transmissions)
    return found


def no_worse(words, cost):
    made = planned(words)
    assert (made.steps, made.transmissions) <= cost, words


LINES = sorted(known().items())


def some(rest):
    """Return the lines of small jobs whose digest leaves this rest."""
    return [
        line for line in LINES if crc32(line[0].encode()) % EACH == rest and not any(name in line[0] for name in HEAVY)
    ]


@pytest.mark.parametrize(("words", "cost"), some(0))
def test_no_plan_is_worse_than_it_was(words, cost):
    no_worse(words, cost)


def main(jobs):
    """Plan what is known and what a file names, and keep the better of old and new."""
    found = known()
    for words in dict.fromkeys([*found, *Path(jobs).read_text().splitlines()]):
        try:
            made = planned(words)
        except TreecastError as error:
            print(f"{words}: {error}", file=sys.stderr)
            continue
        cost = made.steps, made.transmissions
        found[words] = min(found.get(words, cost), cost)
    lines = [f"{steps} {transmissions} {words}\n" for words, (steps, transmissions) in sorted(found.items())]
    GOLDEN.write_text("".join(lines))


if __name__ == "__main__":
    main(sys.argv[1])


@pytest.mark.slow
@pytest.mark.parametrize(("words", "cost"), some(EACH // 2))
def test_no_plan_is_worse_than_it_was_at_length(words, cost):
    no_worse(words, cost)


@pytest.mark.long
@pytest.mark.parametrize(("words", "cost"), LINES)
def test_no_plan_at_all_is_worse_than_it_was(words, cost):
    no_worse(words, cost)
