"""Begins at a host, as text that comes by its standard input: finds treecast there, or takes what is sent, and joins the cast.

It runs under whatever Python is there, so it is written for old ones, too. ``asked``: the version that is needed, and the mark of
words to the launcher.
"""

import io
import os
import shutil
import signal
import sys
import tarfile
import tempfile

version, mark = globals()["asked"]


def leave() -> None:
    """Take away what was sent."""
    if folder:
        shutil.rmtree(folder, True)


def end(*_: object) -> None:
    """End at once."""
    leave()
    os._exit(1)


folder, found, lacks = "", "", ""
if sys.version_info < (3, 11):  # noqa: UP036
    lacks = "it has Python {}.{}, and treecast needs 3.11".format(*sys.version_info)
else:
    try:
        __import__("numpy")
    except ImportError:
        lacks = "there is no numpy: pip install numpy"
    try:
        import treecast

        found = treecast.__version__
    except (ImportError, OSError, AttributeError):
        pass
# One line that the launcher knows by its mark, among whatever else a shell prints at login.
if lacks or found != version:
    os.write(1, (mark + '{"%s": "%s"}\n' % (("lacks", lacks) if lacks else ("send", found))).encode())
if not lacks and found != version:
    data = sys.stdin.buffer.read(int(sys.stdin.buffer.readline()))
    folder = tempfile.mkdtemp(prefix="treecast-cast-")
    signal.signal(signal.SIGTERM, end)
    with tarfile.open(fileobj=io.BytesIO(data)) as sources:
        if hasattr(tarfile, "data_filter"):
            sources.extraction_filter = tarfile.data_filter
        sources.extractall(folder)
    # The other version was imported to look at its number, and must not be found again.
    for name in [each for each in sys.modules if each.split(".")[0] == "treecast"]:
        del sys.modules[name]
    sys.path.insert(0, folder)
if not lacks:
    from treecast.running.cast.there import main

    main(mark, leave)
