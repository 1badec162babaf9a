"""How both sides of a new connection prove that they know the secret of the job, before anything else is read.

Each sends who it is and a nonce, then the HMAC-SHA256 of that and of the other's nonce. Who is said and which side one is
are in it, so nothing can be reflected. A last byte says that it was right.
Before the proof 46 bytes are read, then 32, within five seconds.
"""

import hashlib
import hmac
import os
import socket
import ssl
import struct
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from treecast.errors import PlanError

_HELLO = struct.Struct("<8sHI16s16s")
_MAGIC, VERSION, _WELCOME = b"treecast", 2, b"!"
LIMIT = 5.0  # seconds that a stranger has
PLACE = (1 << 32) - 1
"""In place of a rank: whoever says so is the meeting place."""


class StrangerError(OSError):
    """The other side has not proved that it belongs to the job."""


class Who(NamedTuple):
    """Who is at the other end: its rank, and the identity that it has made up at its start."""

    rank: int
    identity: bytes


class Tls(NamedTuple):
    """The files by which both sides show who they are: certificate, key, and the authority that both trust."""

    certificate: str
    key: str
    authority: str

    def context(self, server: bool) -> ssl.SSLContext:
        """Return the context that wraps a socket. Raises PlanError for files that are none."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False  # the certificate is the job's, whatever the host
        context.verify_mode = ssl.CERT_REQUIRED
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        try:
            context.load_cert_chain(self.certificate, self.key)
            context.load_verify_locations(self.authority)
        except OSError as error:
            raise PlanError(f"tls={tuple(self)} cannot be used: {error}") from None
        return context


class Trust(NamedTuple):
    """The trust of a job: its secret, b"" for none, and TLS where it is asked for."""

    secret: bytes = b""
    tls: Tls | None = None

    @property
    def host(self) -> str:
        """The address to listen on: without a secret that of this machine alone."""
        return "" if self.secret else "127.0.0.1"


def read_secret() -> bytes:
    """Return the secret that the environment gives, b"" for none.

    It is hexadecimal, in TREECAST_SECRET or in the file that TREECAST_SECRET_FILE names. Raises PlanError for a file that
    others can read.
    """
    text, file = os.environ.get("TREECAST_SECRET", ""), os.environ.get("TREECAST_SECRET_FILE")
    if file:
        try:
            if os.stat(file).st_mode & 0o077:
                raise PlanError(f"{file} can be read by others: chmod 600 {file}")
            text = Path(file).read_text()
        except OSError as error:
            raise PlanError(f"the secret in {file} cannot be read: {error.strerror}") from None
    try:
        return bytes.fromhex(text.strip())
    except ValueError:
        raise PlanError("the secret is written in hexadecimal: 64 digits, say") from None


def read_all(sock: socket.socket, count: int, until: float) -> bytes:
    """Return so many bytes. Raises OSError when they do not come in time."""
    found = b""
    while len(found) < count:
        left = until - monotonic()
        if left <= 0:
            raise TimeoutError("nothing came in time")
        sock.settimeout(left)
        got = sock.recv(count - len(found))
        if not got:
            raise ConnectionAbortedError("the other side ended the connection")
        found += got
    return found


def greet(
    sock: socket.socket, own: Who, trust: Trust, *, server: bool, seconds: float = LIMIT
) -> tuple[socket.socket, Who]:
    """Prove who this is, and have the other side prove it; return the connection, wrapped where TLS is asked for, and who it is.

    Raises OSError when the other side is a stranger, and closes the connection then.
    """
    until = monotonic() + seconds
    try:
        sock.settimeout(seconds)
        if trust.tls is not None:
            sock = trust.tls.context(server).wrap_socket(sock, server_side=server)
        nonce = os.urandom(16)
        hello = _HELLO.pack(_MAGIC, VERSION, own.rank, own.identity, nonce)
        sock.sendall(hello)
        other = read_all(sock, _HELLO.size, until)
        magic, version, rank, identity, _ = _HELLO.unpack(other)
        if magic != _MAGIC or version != VERSION:
            raise StrangerError("the other side is no rank of this version of treecast")
        sock.sendall(_proof(trust.secret, server, hello, other))
        if not hmac.compare_digest(read_all(sock, 32, until), _proof(trust.secret, not server, other, hello)):
            raise StrangerError("the other side does not know the secret of the job")
        if server:
            sock.sendall(_WELCOME)
        else:  # the other side may have been out of patience
            read_all(sock, len(_WELCOME), until)
    except OSError:
        with suppress(OSError):
            sock.close()
        raise
    sock.settimeout(None)
    return sock, Who(rank, identity)


def _proof(secret: bytes, server: bool, own: bytes, other: bytes) -> bytes:
    return hmac.digest(secret, (b"S" if server else b"C") + own + other, hashlib.sha256)
