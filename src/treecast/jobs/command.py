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

    >>> import os
    >>> [os.path.basename(word) for word in ending_the_job(["python3", "-u", "work.py", "5"])]
    ['python3', '-u', 'program.py', 'work.py', '5']
    >>> [os.path.basename(word) for word in ending_the_job(["hostname"])][-3:]
    ['program.py', 'exec', 'hostname']
    """
    words = [*_interpreter_of(program[0]), *program] if program else []
    at = _place_of_program(words)
    if at:
        return [*words[:at], PROGRAM, *words[at:]]
    return watched(program) if program else []


def watched(program: Sequence[str], how: str = "exec") -> list[str]:
    """Return a command line that runs any program under watch; ``how``: as jobs/program.py says."""
    return [sys.executable, "-I", "-S", PROGRAM, how, *program]


def start(
    line: Sequence[str], environment: Mapping[str, str], stdin: int = DEVNULL, stdout: int | None = None
) -> Popen[bytes]:
    """Start a command in a session of its own, with more variables than this process has. Raises PlanError when that fails."""
    try:
        return Popen(line, env={**os.environ, **environment}, stdin=stdin, stdout=stdout, start_new_session=True)
    except OSError as error:
        raise PlanError(f"{line[0]} cannot be started: {error.strerror}") from None


def _interpreter_of(name: str) -> list[str]:
    """Return the Python that runs a script which names it in its first line; nothing for anything else."""
    path = shutil.which(name)
    try:
        with open(path or name, "rb") as file:
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
