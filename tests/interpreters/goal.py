"""GOAL, carried out on real bytes.

``num_ranks N``, then for each rank in order ``rank R {``, a line for each operation (``LABEL: send 5b to 3 tag 0``,
``LABEL: recv 5b from 1 tag 0``, ``LABEL: calc 100``) and for what it requires (``LABEL requires LABEL``, both said above), ``}``.
Lines that begin with ``//`` are comments.
"""

import re

from tests.interpreters.memory import WrongError
from tests.interpreters.operations import Run

OPERATION = re.compile(r"([a-zA-Z]\w*): (?:(send|recv) (\d+)b (to|from) (\d+) tag (\d+)|calc (\d+))")
REQUIRES = re.compile(r"([a-zA-Z]\w*) requires ([a-zA-Z]\w*)")


def parsed(data):
    """Return for each rank {label: (word, peer, tag, size)} and [(label, label that it requires)]."""
    first, *lines = [line for line in data.decode().splitlines() if not line.startswith("//")]
    if not re.fullmatch(r"num_ranks \d+", first):
        raise WrongError("the first line says no number of ranks")
    ranks, inside = [], False
    for line in lines:
        operation, requires = OPERATION.fullmatch(line), REQUIRES.fullmatch(line)
        if not inside and line == f"rank {len(ranks)} {{":
            ranks.append(({}, []))
            inside = True
        elif inside and line == "}":
            inside = False
        elif inside and operation:
            label, word, size, way, peer, tag, _ = operation.groups()
            if label in ranks[-1][0] or (word == "send") != (way == "to"):
                raise WrongError(f"{line!r} is no new operation")
            ranks[-1][0][label] = (word or "calc", int(peer or 0), int(tag or 0), int(size or 0))
        elif inside and requires:
            if not set(requires.groups()) <= set(ranks[-1][0]):
                raise WrongError(f"{line!r} names what is not there yet")
            ranks[-1][1].append(requires.groups())
        else:
            raise WrongError(f"{line!r} is no line of a rank")
    if inside or len(ranks) != int(first.split()[1]):
        raise WrongError("there are not as many ranks as said")
    return ranks


def interpret(data, schedule, sizes):
    """Carry out a file; return when its last message ends. Raise WrongError when it does not deliver all that it should."""
    return Run(parsed(data), schedule, sizes).run()
