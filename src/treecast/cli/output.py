"""Standard output, whoever reads it: a reader that leaves early (``| head``) changes no verdict."""

import os
import sys


def write(text: str) -> None:
    """Print text on standard output as it is; print nothing more once its reader has left."""
    try:
        print(text)  # noqa: T201
    except BrokenPipeError:
        drop_output()


def flush() -> None:
    """Hand over the text that has been printed so far."""
    if sys.stdout is None:  # type: ignore[reportUnnecessaryComparison]  # the caller closed it
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()


def drop_output() -> None:
    """Lead standard output to nowhere, so that its buffer raises nothing at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # it is no real file
        return
