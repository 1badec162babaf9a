"""How both sides of a new connection prove that they know the secret of the job, before anything else is read.

Each sends who it is and a nonce, then the HMAC-SHA256 of that and of the other's nonce. Who is said and which side one is
are in it, so nothing can be reflected. A last byte says that it was right.
"""

import ctypes
import hashlib
import hmac
import os
import secrets
import socket
import ssl
import stat
import struct
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from treecast.errors import PlanError

#   "treecast" 8 | version u16 | rank u32 | identity 16 | nonce 16       then the proof, 32 bytes, and "!" of the server
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
        context.verify_mode = ssl.CERT_REQUIRED  # both sides show a certificate
        context.minimum_version = ssl.TLSVersion.TLSv1_3  # no older version can be talked into
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
    def key(self) -> bytes:
        """What both sides prove to know: without a secret that of the user. Raises PlanError where it cannot be kept."""
        return self.secret or secret_of_user(os.geteuid())  # ranks of one user on one host need no secret of their own


_GIVEN: dict[str, bytes] = {}  # the secret that was in the environment


def read_secret() -> bytes:
    """Return the secret that the environment gives, b"" for none.

    It is hexadecimal, in TREECAST_SECRET or in the file that TREECAST_SECRET_FILE names. The former is taken out of the
    environment and kept here: programs that this one starts do not get it. Raises PlanError for a file that others can read.
    """
    if text := os.environ.get("TREECAST_SECRET"):
        libc = ctypes.CDLL(None)
        libc.getenv.restype = ctypes.c_void_p
        # /proc/PID/environ has what stood here at the start
        ctypes.memset(libc.getenv(b"TREECAST_SECRET"), 0, len(text))
        del os.environ["TREECAST_SECRET"]
        _GIVEN["secret"] = _from_digits(text)  # kept: a second job of this process needs it
    file = os.environ.get("TREECAST_SECRET_FILE")
    return _read_file(Path(file)) if file else _GIVEN.get("secret", b"")


os.register_at_fork(after_in_child=_GIVEN.clear)  # a child is no rank of this job


@cache
def secret_of_user(user: int) -> bytes:
    """Return the secret that all processes of a user on this host share, and no other user knows; who comes first makes it.

    It is in the user's runtime folder, or in a folder of the user's own in the temporary one. Raises PlanError for neither.
    """
    made = Path(tempfile.gettempdir(), f"treecast-{user}")
    with suppress(OSError):
        # Made first, though the other is looked at first: it may be a stranger's, and is then refused below.
        made.mkdir(0o700)
    for folder in (Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"), made):
        with suppress(OSError):  # whoever else could write there could put a known secret in place
            found = folder.lstat()
            # a folder of this user, that is no link, and that nobody else can enter
            if stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077:
                return _read_file(folder / "treecast-secret", own=True)
    raise PlanError(f"{made} is not this user's alone (mode 700), so ranks need a TREECAST_SECRET")


def _read_file(file: Path, own: bool = False) -> bytes:
    """Return the secret in a file that nobody but its reader and root can read or change; make one that is our own."""
    try:
        if own and not file.exists():
            # who comes second finds the name taken, and reads that file
            with tempfile.NamedTemporaryFile("w", dir=file.parent) as fresh, suppress(FileExistsError):
                fresh.write(secrets.token_hex(32))
                fresh.flush()
                os.link(fresh.name, file)  # it gets its name when it is whole
        # no link: it could lead to a file of known content
        with open(os.open(file, os.O_RDONLY | (os.O_NOFOLLOW if own else 0))) as opened:
            found, secret = os.fstat(opened.fileno()), _from_digits(opened.read())
    except OSError as error:
        raise PlanError(f"the secret in {file} cannot be read: {error.strerror}") from None
    if found.st_mode & 0o077 or found.st_uid not in (0, os.geteuid()):  # root's own file is trusted
        raise PlanError(f"{file} can be read by others: chown it to who runs the job, and chmod 600 {file}")
    if own and len(secret) < 32:
        raise PlanError(f"{file} has no secret of 64 digits: remove it, and treecast makes one")
    return secret


def _from_digits(text: str) -> bytes:
    try:
        return bytes.fromhex(text.strip())
    except ValueError:
        raise PlanError("the secret is written in hexadecimal: 64 digits, say") from None


def read_all(sock: socket.socket, count: int, until: float | None) -> bytes:
    """Return so many bytes. Raises OSError when they do not come in time; None: whenever they come."""
    found = b""
    while len(found) < count:
        left = None if until is None else until - monotonic()  # one limit for all bytes, not for each piece
        if left is not None and left <= 0:
            raise TimeoutError("nothing came in time")
        sock.settimeout(left)
        if not (got := sock.recv(count - len(found))):
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
        # Over both greetings, the own one first, and with the side: a proof that is sent back, or taken from another
        # connection, proves nothing.
        sock.sendall(_proof(trust.key, server, hello, other))
        # in constant time
        if not hmac.compare_digest(read_all(sock, 32, until), _proof(trust.key, not server, other, hello)):
            lacks = "does not know the secret of the job" if trust.secret else "is no process of this user here"
            raise StrangerError(f"the other side {lacks}: all ranks need the same TREECAST_SECRET")
        if server:
            sock.sendall(_WELCOME)
        else:  # the other side may have been out of patience
            read_all(sock, len(_WELCOME), until)
    except OSError:
        sock.close()
        raise
    # The transport takes it from here, and makes it non-blocking.
    sock.settimeout(None)
    return sock, Who(rank, identity)


def _proof(secret: bytes, server: bool, own: bytes, other: bytes) -> bytes:
    return hmac.digest(secret, (b"S" if server else b"C") + own + other, hashlib.sha256)
