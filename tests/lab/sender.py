"""What hosts of a path run in the tests: bytes over TCP, and how long they took.

sender.py SIZE           path:3: node 1 sends to node 0; then to 0 and 2 at once; node 0 to node 2. Prints three times.
sender.py SIZE SILENCE   path:2: node 0 makes the mark and sends to node 1, which prints why it stopped, and what it got.
"""

import os
import socket
import sys
import threading
import time
from pathlib import Path

PORT = 9000
me, size, silence = os.uname().nodename, int(sys.argv[1]), float(sys.argv[2]) if sys.argv[2:] else None
lab = Path(os.environ["TREECAST_LAB"])


def receive(listener):
    """Receive what one sender sends, and answer."""
    other, _ = listener.accept()
    other.settimeout(silence)
    got = 0
    try:
        while data := other.recv(1 << 16):
            got += len(data)
    except TimeoutError:
        print("silence", got, flush=True)
        os._exit(0)
    if silence:
        print("closed", got, flush=True)
    other.sendall(b"x")
    other.close()


def send(to):
    """Send, and wait for the answer."""
    other = socket.create_connection((to, PORT))
    other.settimeout(silence and silence + 2)
    other.sendall(bytes(size))
    other.shutdown(socket.SHUT_WR)
    other.recv(1)
    other.close()


def wait_for(*notes):
    """Wait until others have left notes."""
    while not all((lab / note).exists() for note in notes):
        time.sleep(0.01)


def timed(*targets):
    """Return how long it takes to send to all targets at once."""
    threads = [threading.Thread(target=send, args=(to,)) for to in targets]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - began


def listen(times):
    """Take so many senders, one after the other."""
    listener = socket.create_server(("", PORT))
    (lab / f"listens-{me}").touch()
    for _ in range(times):
        receive(listener)


if silence:
    if me == "h1":
        listen(1)
    else:
        wait_for("listens-h1")
        (lab / "mark").touch()
        try:
            send("h1")
        except OSError:
            os._exit(0)
elif me == "h1":
    wait_for("listens-h0", "listens-h2")
    print(timed("h0"), timed("h0", "h2"), flush=True)
    (lab / "sent").touch()
elif me == "h0":
    listen(2)
    wait_for("sent")
    print(timed("h2"), flush=True)
else:
    listen(2)
