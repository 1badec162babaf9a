"""A running job among strangers: half frames, wrong proofs, huge lengths and slow readers neither stop nor change it."""

import os
import random
import shutil
import socket
import struct
import subprocess
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

from tests.tcp.threads import at_once
from treecast.running.groups.terms import Terms
from treecast.tcp.comm import Comm
from treecast.tcp.meeting import MeetingPlace
from treecast.tcp.proof import VERSION, Tls, Trust
from treecast.tcp.start import Options, Start, start_job

SECRET = bytes(range(32))


def knock(port, rng):
    """Come as a stranger; return the connection, which may stay open."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=60)
    hello = struct.pack("<8sHI16s16s", b"treecast", VERSION, rng.randrange(5), os.urandom(16), os.urandom(16))
    with suppress(OSError):
        sock.sendall(
            rng.choice(
                [
                    b"",
                    hello[: rng.randrange(46)],
                    hello + os.urandom(32),
                    hello + struct.pack("<I", 1 << 31) * 20,
                    os.urandom(rng.randrange(300)),
                    b"\0" * 4096,
                ]
            )
        )
    return sock


def job_among_strangers(visits, calls):
    place = MeetingPlace(3, Trust(SECRET), ("127.0.0.1", 0), start=60)
    where, ports = (("127.0.0.1", place.port),), []
    rng, ended, kept, came = random.Random(visits), [], [], []

    def be_rank(rank):
        job = start_job(Start(rank, 3, where, False), Options(Terms(1, None), Trust(SECRET), 60))
        ports.append(job._listener.port)
        comm, total = Comm(job, job.add_group(range(3), 0)), np.zeros(1000)
        try:
            for step in range(calls):
                comm.Allreduce(np.full(1000, 1.0 * rank + step), total)
                if total[0] != 3 + 3 * step or comm.last.failed:
                    return False
        finally:
            ended.append(rank)
            job.finish()
        return True

    def be_strangers():
        while len(came) < visits and len(ended) < 3:
            with suppress(OSError):  # the job may have ended
                kept.append(knock(rng.choice([place.port, *ports]), rng))
            came.append(1)
            if len(kept) > 100:
                kept.pop(rng.randrange(100)).close()

    *found, _ = at_once([*(partial(be_rank, rank) for rank in range(3)), be_strangers], 300)
    for sock in kept:
        sock.close()
    place.close()
    return found, len(came)


@pytest.fixture
def tls(tmp_path):
    """Return the files of an authority and of a certificate that it has signed."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificates")

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=tmp_path, check=True, capture_output=True, timeout=60)

    openssl(
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
        "-subj",
        "/CN=a",
        "-days",
        "2",
    )
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "job.key", "-out", "job.csr", "-subj", "/CN=job")
    openssl(
        "x509",
        "-req",
        "-in",
        "job.csr",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-out",
        "job.pem",
        "-days",
        "2",
    )
    return Tls(*(str(tmp_path / name) for name in ("job.pem", "job.key", "ca.pem")))


def test_a_job_over_tls(tls):
    trust = Trust(SECRET, tls)
    place = MeetingPlace(3, trust, ("127.0.0.1", 0), start=60)

    def be_rank(rank):
        job = start_job(Start(rank, 3, (("127.0.0.1", place.port),), False), Options(Terms(1, 20), trust, 60))
        comm, total = Comm(job, job.add_group(range(3), 0)), np.zeros(300_000)
        try:
            comm.Allreduce(np.full(300_000, rank + 1.0), total)
            said = comm.allgather(type(job.transport._wires[(rank + 1) % 3].sock).__name__)
        finally:
            job.finish()
        return total.min(), total.max(), said

    assert at_once([partial(be_rank, rank) for rank in range(3)]) == [(6, 6, ["SSLSocket"] * 3)] * 3
    place.close()


@pytest.mark.slow
def test_strangers_change_nothing():
    found, came = job_among_strangers(300, 300)
    assert found == [True] * 3
    assert came > 30


@pytest.mark.long
def test_ten_thousand_strangers_change_nothing():
    found, came = job_among_strangers(10_000, 30_000)
    assert found == [True] * 3
    assert came == 10_000
