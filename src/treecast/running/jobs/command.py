"""The command line of a rank: its program under watch; how it is started; and where ranks of torch meet."""

import os
import re
import shutil
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL, Popen

from treecast.errors import PlanError

PROGRAM = str(Path(__file__).with_name("program.py"))
_PYTHON = re.compile(r"python[0-9.]*")


def ending_the_job(program: Sequence[str]) -> list[str]:
    """Return a command line that runs a program under watch, and ends the job when it fails.

    The program is a path, or a name that is found on the PATH, or beside this Python. Raises PlanError for none.

    >>> [os.path.basename(word) for word in ending_the_job(["python3", "-u", "-m", "work", "5"])]
    ['python3', '-u', 'program.py', '-m', 'work', '5']
    >>> [os.path.basename(word) for word in ending_the_job(["hostname"])][-3:]
    ['program.py', 'exec', 'hostname']
    """
    found = [_find(program[0]), *program[1:]]
    words = [*map(_find, _interpreter_of(found[0])), *found]
    at = _place_of_program(words)
    if at and not words[at].startswith("-") and not os.path.exists(words[at]):
        raise PlanError(f"{words[at]} cannot be started: there is no such file")
    return [*words[:at], PROGRAM, *words[at:]] if at else watched(found)


def watched(program: Sequence[str], how: str = "exec") -> list[str]:
    """Return a command line that runs any program under watch; ``how``: as running/jobs/program.py says."""
    return [sys.executable, "-I", "-S", PROGRAM, how, *program]


def start(
    line: Sequence[str], environment: Mapping[str, str], stdin: int = DEVNULL, stdout: int | None = None
) -> Popen[bytes]:
    """Start a command in a session of its own, with more variables than this process has. Raises PlanError when that fails."""
    try:
        return Popen(line, env={**os.environ, **environment}, stdin=stdin, stdout=stdout, start_new_session=True)
    except OSError as error:
        raise PlanError(f"{line[0]} cannot be started: {error.strerror}") from None


def _find(name: str) -> str:
    """Return the path of a program. Raises PlanError when there is none, and says what would be right."""
    path = shutil.which(name) or shutil.which(name, path=os.path.dirname(sys.executable))
    if path is None:
        why = "there is no such program"
        if os.access(name, os.X_OK) and os.path.isfile(name):
            why = f"write ./{name}"
        elif os.path.isfile(name):
            why = f"it may not be run: chmod +x {name}, or python {name}"
        raise PlanError(f"{name} cannot be started: {why}")
    return path


def _interpreter_of(path: str) -> list[str]:
    """Return the Python that runs a script which names it in its first line; nothing for anything else."""
    try:
        with open(path, "rb") as file:
            first = file.readline(200)
    except OSError:
        return []
    words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
    if words[:1] == ["/usr/bin/env"]:
        del words[0]
    return words if len(words) == 1 and _PYTHON.fullmatch(os.path.basename(words[0])) else []


def _place_of_program(words: Sequence[str]) -> int:
    """Return where behind Python and its options the program begins; 0 where that is not clear, or it is no Python."""
    if not words or not _PYTHON.fullmatch(os.path.basename(words[0])):
        return 0
    place = 1
    while place < len(words):
        word = words[place]
        if word in ("-m", "-c"):
            return place if len(words) > place + 1 else 0
        if word == "-" or not word.startswith("-"):
            return place
        if word.startswith("--") or (word[1] not in "WX" and set("mc") & set(word)):
            return 0
        place += 2 if word in ("-W", "-X") else 1
    return 0


def torch_place(host: str) -> dict[str, str]:
    """Return the variables by which torch.distributed finds where its ranks meet: a port that is free here by now."""
    with socket.create_server(("", 0)) as server:
        return {"MASTER_ADDR": host.rpartition("@")[2], "MASTER_PORT": str(server.getsockname()[1])}
