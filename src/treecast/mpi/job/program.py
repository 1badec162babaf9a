"""Run a Python program as a rank, and end the whole job when it fails.

    program.py SCRIPT ARGUMENTS …      also -m MODULE …, -c CODE …, or - for standard input

Under fault tolerance the others live on when a rank ends, and what waits for it may wait for ever, also after MPI_Abort. So an
exception that nobody catches, and an exit status other than 0, are told to the launcher: by a file whose name it gives in
TREECAST_JOB. A rank on another host, which does not see that file, ends the daemon of Open MPI that started it, and so the job.

It is run as a file and imports the standard library only: the program's Python need not have treecast.
"""

import contextlib
import os
import runpy
import signal
import sys
from pathlib import Path
from types import ModuleType, TracebackType

_DAEMONS = ("prted", "prterun", "mpirun")


def main(words: list[str]) -> None:
    """Run the program; leave at once, and end the job, when it fails."""
    status = 0
    try:
        run(words)
    except SystemExit as leaving:
        status = _status_of(leaving.code)
    except BaseException as error:
        shown = error.with_traceback(_of_program(error.__traceback__))
        sys.excepthook(type(shown), shown, shown.__traceback__)
        status = 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    if status:
        end_job(status)


def run(words: list[str]) -> None:
    """Run a program as Python would, with its words as ``sys.argv``."""
    sys.argv[:] = words
    first = words[0]
    if not sys.flags.safe_path:  # it is now the folder of this file
        sys.path[0] = os.path.dirname(os.path.realpath(first)) if first not in ("-m", "-c", "-") else ""
    if first == "-m":
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    elif first in ("-c", "-"):
        code = sys.argv.pop(1) if first == "-c" else sys.stdin.read()
        fresh = ModuleType("__main__")
        sys.modules["__main__"] = fresh
        exec(compile(code, "<string>" if first == "-c" else "<stdin>", "exec"), fresh.__dict__)
    else:
        runpy.run_path(first, run_name="__main__")


def _status_of(code: object) -> int:
    """Return the exit status that Python makes of what ``sys.exit`` was given; print a text."""
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _of_program(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback from where the program itself begins."""
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        trace = trace.tb_next
    return trace


def end_job(status: int) -> None:
    """Tell the launcher that the job is to end with this exit status, and leave without MPI_Finalize."""
    flush()
    if os.environ.get("TREECAST_ON_ERROR") == "die":  # the program has said that the others live on: treecast.mpi.wrap
        os.kill(os.getpid(), signal.SIGKILL)
    note = Path(os.environ.get("TREECAST_JOB", "/none/status"))
    mine = note.with_name(f"{note.name}.{os.getpid()}")
    try:
        mine.write_text(str(status))
        os.link(mine, note)  # at once, and only the first of several
    except FileExistsError:
        pass
    except OSError:
        end_daemon()
    os._exit(status)


def flush() -> None:
    """Pass on what has been printed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def end_daemon() -> None:
    """End the daemon of Open MPI that started this process, and with it all that it started; nobody else's parent."""
    with contextlib.suppress(OSError):
        if Path(f"/proc/{os.getppid()}/comm").read_text().strip() in _DAEMONS:
            os.kill(os.getppid(), signal.SIGTERM)


if __name__ == "__main__":
    main(sys.argv[1:])
