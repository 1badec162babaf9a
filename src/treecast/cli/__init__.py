"""The command line: it turns every result and every error into a few lines and an exit status."""

import io
import json
import os
import re
import signal
import sys
import threading
from typing import Any, NoReturn

from cyclopts import CycloptsError

from treecast.cli.app import app
from treecast.cli.console import drop_output, flush, show_text
from treecast.cli.slips import STARTING, modern, spell_slip
from treecast.discovery import PLUGINS, blame
from treecast.errors import TreecastError

__all__ = ["main"]


class _Interrupted(KeyboardInterrupt):
    """Ctrl-C. Where a plain KeyboardInterrupt passes through exec(), as dataclasses and numba use it, Python ends by a signal."""


def _interrupt(*_: Any) -> NoReturn:
    raise _Interrupted


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 it holds, 1 it is violated, 2 it cannot be done, 130 interrupted."""
    # Only where Python's own handler is in place: a program that calls this may have another.
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    mine = usual and threading.current_thread() is threading.main_thread()
    if mine:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        _fail("interrupted")
        return 130
    finally:
        if mine:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _run(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a sign shows another in its place
            stream.reconfigure(errors="replace")
    traceback, as_json = False, "--json" in arguments[: _own(arguments)]
    try:
        # Plug-ins first: they may add the networks and builders that the rest of the line names.
        arguments, traceback = _take_plugins(arguments)
        status = app(modern(arguments), exit_on_error=False, print_error=False)
        flush()
        return status if isinstance(status, int) else 0
    except CycloptsError as error:
        _fail(f"error: {spell_slip(error)}", as_json)
    except TreecastError as error:
        _fail(f"error: {_in_options(str(error))}", as_json)
    except SystemExit as leaving:  # a signal ended a job over MPI; or rich exits, when whoever read the help has left
        return leaving.code if isinstance(leaving.code, int) and leaving.code > 128 else 0
    except MemoryError:
        _fail("error: there is not enough memory for this; take a smaller network", as_json)
    except BrokenPipeError:  # whoever read a file that we wrote to standard output has left
        drop_output()
        return 0
    except OSError as error:
        _fail(f"error: {error.strerror or error}", as_json)
        drop_output()
    except Exception as error:
        # an error of our own shows all its lines; one of an extension says where that fails
        place = "" if traceback else blame(error)
        if not place:
            raise
        said = f"{type(error).__name__}: {error}; --traceback shows all lines"
        _fail(f"error: the extension fails ({place}): {said}", as_json)
    return 2


def _own(arguments: list[str]) -> int:
    """Return how many arguments of a command line are its own; programs that are started have options of theirs."""
    verb = next((at for at, word in enumerate(arguments) if word in STARTING), len(arguments))
    return min(verb, arguments.index("--") if "--" in arguments else len(arguments))


def _take_plugins(arguments: list[str]) -> tuple[list[str], bool]:
    """Take ``--plugin FILE`` and ``--traceback`` out of a command line.

    Files of extensions are named to all processes that this one starts. Return the rest, and whether tracebacks are shown.

    >>> _take_plugins(["plan", "broadcast", "ring:4", "--traceback"])
    (['plan', 'broadcast', 'ring:4'], True)
    """
    end = _own(arguments)
    words, rest, files = arguments[:end], list[str](), list[str]()
    while words:
        word = words.pop(0)
        if word == "--plugin" and words:
            files.append(words.pop(0))
        elif word.startswith("--plugin="):
            files.append(word.removeprefix("--plugin="))
        else:
            rest.append(word)
    for file in files:
        if os.pathsep in file:
            raise TreecastError(
                f"the path of a plug-in has no {os.pathsep!r}, which stands between several: rename {file!r}"
            )
    if files:
        # In the environment, so that ranks and workers that this process starts have them, too.
        os.environ[PLUGINS] = os.pathsep.join([*filter(None, [os.environ.get(PLUGINS)]), *files])
    return [word for word in rest if word != "--traceback"] + arguments[end:], "--traceback" in rest


def _in_options(text: str) -> str:
    """Return an error in which a setting that Python writes as ``least_chunk='4KiB'`` is written as on the command line.

    Text in quotes is somebody's own, and stays: a file may be called ``n=5.tc``. So do calls of Python.

    >>> _in_options("say both, as in latency='1us', least_chunk='4KiB', not 'n=5'")
    "say both, as in --latency 1us, --least-chunk 4KiB, not 'n=5'"
    >>> _in_options("treecast.connect(survive=1) does")
    'treecast.connect(survive=1) does'
    """
    text = re.sub(r"\b(\w+) \(in Python \w+\)", r"--\1", text)
    # quoted text and calls are in the pattern so that nothing inside them is taken for a setting
    settings_or_others = r"""\b([a-z_]+)=(?:'([^']*)'|([0-9]+\b))|(?<!\w)'[^']*'|"[^"]*"|\b\w+\.[\w.]+\([^()]*\)"""
    return re.sub(settings_or_others, _spell, text)


def _spell(found: re.Match[str]) -> str:
    keyword, text, number = found.groups()
    return found[0] if keyword is None else f"--{keyword.replace('_', '-')} {text or number}"


def _fail(text: str, as_json: bool = False) -> None:
    """Print a text on standard error as one line, also where it quotes line breaks; as JSON also where reports go."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if as_json:
        show_text(json.dumps({"error": line.removeprefix("error: ")}, ensure_ascii=False, indent=2))
    if sys.stderr is not None:  # type: ignore[reportUnnecessaryComparison]
        print(line if len(line) <= 1000 else line[:997] + "…", file=sys.stderr)  # noqa: T201
