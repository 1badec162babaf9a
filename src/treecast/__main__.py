"""The command ``treecast``, also as ``python -m treecast``: it heeds Ctrl-C before anything else is imported."""

import os
import sys

# Modules make many objects, and all stay: at its usual pace the collector takes a tenth of the start to look through them.
_OBJECTS = 100_000  # that are made between two looks


def main() -> int:
    """Run the command line; return its exit status."""
    try:
        import signal

        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if usual:
            signal.signal(signal.SIGINT, _end)  # not by an exception, which an import may swallow
        import gc

        gc.set_threshold(_OBJECTS)
        from treecast.cli import main

        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # main() sets its own, which cleans up
        return main()
    except KeyboardInterrupt:
        return _end()


def _end(*_: object) -> int:
    """End as the command line does when it is interrupted, while there is nothing yet to clean up."""
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
