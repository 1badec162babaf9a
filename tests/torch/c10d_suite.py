"""PyTorch's own tests of process groups, on ranks that live from test to test: ``make test-torch``.

    python tests/torch/c10d_suite.py [gloo | as-gloo | treecast] [--ranks 3,4] [--survive 0,1,n-1] [--only WORD]

``gloo`` is the baseline. ``as-gloo`` runs whatever PyTorch has for gloo, with a group of treecast's wherever gloo's is made.
``treecast`` runs what is for any backend. The tests are those of ``torch.testing._internal.distributed.distributed_test``, which
come with torch. There each test starts its ranks; here the ranks go from test to test, each of which has a new store. A test that
hangs or ends its process is written down, and the rest goes on in new processes. The status is 0 when nothing fails but what
is known to.
"""

import argparse
import copy
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
import unittest
from collections import Counter
from datetime import timedelta
from pathlib import Path

KNOWN = {"test_ddp_logging_data_cpu": "DistributedDataParallel's logger in C++ asks whether the group is gloo's own"}
LIMIT = 90.0  # seconds that a test may take
_NAP = 0.005


def impersonate_gloo():
    """Have torch make a group of treecast's wherever it makes one of gloo's."""
    import inspect
    from types import SimpleNamespace

    import torch.distributed as dist
    import torch.distributed.distributed_c10d as c10d

    from treecast.torch.group import ProcessGroup
    from treecast.torch.starting import create

    class AsGloo(ProcessGroup):
        def __init__(self, store, rank, size, timeout=timedelta(minutes=30)):
            said = inspect.currentframe().f_back.f_locals  # of torch's function that makes groups
            ranks, name = said.get("global_ranks_in_group") or [], str(said.get("group_name", ""))
            options = SimpleNamespace(store=store, group_rank=rank, group_size=size, timeout=timeout, group_id=name)
            options.global_ranks_in_group = list(ranks)
            made = create(options)
            super().__init__(made.comm, options, made.options.global_ranks_in_group)

        def name(self):
            return "gloo"

        _get_backend_name = name

    c10d.ProcessGroupGloo = dist.ProcessGroupGloo = AsGloo


def load(backend):
    """Return torch's class of tests, as it is to run for a backend, and its module."""
    os.environ["BACKEND"] = "gloo" if backend == "as-gloo" else backend
    import torch
    from torch.testing._internal.common_distributed import DistTestCases

    torch.set_num_threads(1)
    if backend == "as-gloo":
        impersonate_gloo()
    if backend == "treecast":
        import treecast.torch

        assert treecast.torch
        for feature in ("ddp", "subgroup"):
            DistTestCases.backend_feature[feature].add("treecast")
    import torch.testing._internal.distributed.distributed_test as tests

    if backend == "as-gloo":  # events that C++ alone can make
        tests.PROFILING_SUPPORTED_BACKENDS.clear()
        tests.SEND_RECV_PROFILING_SUPPORTED_BACKENDS.clear()

    class Suite(tests.TestDistBackend, tests.DistributedTest._DistTestBase):
        pass

    return Suite, tests


def be_rank(backend, rank, size, folder, names):
    """Go through the tests, and write down what comes of each."""
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), TEMP_DIR=folder, PYTORCH_TEST_WITH_SLOW="0")
    os.environ.update(MASTER_ADDR="127.0.0.1")
    suite, module = load(backend)
    import numpy
    import torch
    from torch.testing._internal.common_distributed import TEST_SKIPS

    skips = {each.exit_code: each.message for each in TEST_SKIPS.values()}
    nets = {name: copy.deepcopy(net) for name, net in vars(module).items() if isinstance(net, torch.nn.Module)}
    with open(Path(folder, f"log.{rank}"), "a", buffering=1) as log:
        for name in names:
            log.write(json.dumps([name, "begun", "", time.time()]) + "\n")
            for each, net in nets.items():  # tests change them
                setattr(module, each, copy.deepcopy(net))
            torch.manual_seed(1)
            random.seed(1)
            numpy.random.seed(1)
            began = time.time()
            try:
                verdict, why = run_one(suite, module, name, rank, size)
            except unittest.SkipTest as skip:
                verdict, why = "skip", str(skip)
            except SystemExit as end:
                verdict, why = ("skip", skips[end.code]) if end.code in skips else ("exit", str(end.code))
            except BaseException as error:
                frames = traceback.extract_tb(error.__traceback__)[-4:]
                verdict = "fail"
                why = (
                    f"{type(error).__name__}: {error}"[:600]
                    + " @ "
                    + " < ".join(f"{f.name}:{f.lineno}" for f in frames)
                )
            finish()
            log.write(json.dumps([name, verdict, why, time.time() - began]) + "\n")
            Path(folder, name, f"left.{rank}").touch()
            until = time.time() + LIMIT / 2
            while time.time() < until and not all(Path(folder, name, f"left.{r}").exists() for r in range(size)):
                time.sleep(_NAP)
    os._exit(0)


def run_one(suite, module, name, rank, size):
    import torch.distributed as dist

    where = Path(os.environ["TEMP_DIR"]) if not hasattr(run_one, "root") else run_one.root
    run_one.root = where
    test = getattr(suite, name)
    if getattr(test, "__unittest_skip__", False):
        raise unittest.SkipTest(test.__unittest_skip_why__)
    os.environ["TEMP_DIR"] = str(where / name)
    case = suite(name)
    case.rank, case.file_name = rank, str(where / name / "store")
    timeout = timedelta(seconds=module.CUSTOM_PG_TIMEOUT.get(name, module.default_pg_timeout))
    method = f"file://{where}/{name}/store"
    dist.init_process_group(os.environ["BACKEND"], method, world_size=size, rank=rank, timeout=timeout)
    module.Barrier.barrier_id = 0
    module.Barrier.sync(timeout=LIMIT / 2)
    try:
        getattr(case, name)()
    finally:
        case.doCleanups()
    module.Barrier.sync(timeout=LIMIT / 2)
    return "pass", ""


def finish():
    import torch.distributed as dist

    try:
        if dist.is_initialized():
            dist.destroy_process_group()
    except Exception as error:
        sys.stderr.write(f"destroy: {error}\n")


def run_all(backend, size, names, survive):
    """Run tests in new processes until all are done; return verdict and reason of each."""
    found = {}
    while len(found) < len(names):
        left = [name for name in names if name not in found]
        with tempfile.TemporaryDirectory(prefix="c10d-", ignore_cleanup_errors=True) as folder:
            for name in left:
                for part in ("barrier", "test_dir", "init_dir"):
                    Path(folder, name, part).mkdir(parents=True)
            line = [sys.executable, __file__, backend, "--ranks", str(size), "--folder", folder]
            environment = {**os.environ, "TREECAST_SURVIVE": str(survive)}
            with open(Path(folder, "printed"), "w") as printed:
                ranks = [
                    subprocess.Popen(
                        [*line, "--rank", str(rank), *left], env=environment, stdout=printed, stderr=subprocess.STDOUT
                    )
                    for rank in range(size)
                ]
                stuck = wait(ranks, folder)
            logs = [read_log(folder, rank) for rank in range(size)]
            begun = [name for name in left if any(name in log for log in logs)]
            for name in begun:
                said = [log.get(name, ("died", "")) for log in logs]
                said = [
                    ("hang" if name == stuck else "died", "") if verdict == "begun" else (verdict, why)
                    for verdict, why in said
                ]
                worst = [
                    each
                    for kind in ("hang", "died", "fail", "exit", "pass", "skip")
                    for each in said
                    if each[0] == kind
                ]
                found[name] = worst[0]
            if not begun:
                raise SystemExit(f"no test has begun: {Path(folder, 'printed').read_text()[-2000:]}")
    return found


def read_log(folder, rank):
    path = Path(folder, f"log.{rank}")
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {name: (verdict, why) for name, verdict, why, _ in rows}


def wait(ranks, folder):
    """Wait until the ranks have ended; end them when a test takes too long, or one has ended before the others; name the test."""
    began, stuck = time.time(), None
    while any(rank.poll() is None for rank in ranks):
        time.sleep(0.2)
        times = [path.stat().st_mtime for path in Path(folder).glob("log.*")] or [began]
        if time.time() - max(times) > LIMIT:
            logs = [read_log(folder, rank) for rank in range(len(ranks))]
            names = [name for log in logs for name, (verdict, _) in log.items() if verdict == "begun"]
            stuck = names[0] if names else None
            break
    for rank in ranks:
        if rank.poll() is None:
            rank.kill()
        rank.wait(60)
    return stuck


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backend", nargs="?", default="as-gloo", choices=["gloo", "as-gloo", "treecast"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--ranks", default="3,4")
    parser.add_argument("--survive", default="0,1,n-1")
    parser.add_argument("--only", default="", help="run the tests with this word in their name")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--folder")
    asked = parser.parse_intermixed_args()
    if asked.rank is not None:
        be_rank(asked.backend, asked.rank, int(asked.ranks), asked.folder, asked.names)
    os.environ.update(RANK="0", WORLD_SIZE="3", TEMP_DIR="/tmp")
    suite, _ = load(asked.backend)
    names = asked.names or [name for name in dir(suite) if name.startswith("test_") and asked.only in name]
    status = 0
    for size in map(int, asked.ranks.split(",")):
        for survive in [size - 1 if word == "n-1" else int(word) for word in asked.survive.split(",")]:
            began = time.time()
            found = run_all(asked.backend, size, names, survive)
            wrong = {name: each for name, each in found.items() if each[0] not in ("pass", "skip")}
            for name, (verdict, why) in wrong.items():
                print(f"{verdict} {name}: {KNOWN.get(name) or why}")
            counts = dict(Counter(verdict for verdict, _ in found.values()))
            print(
                f"{asked.backend}, {size} ranks, survive {survive}: {counts}, {time.time() - began:.0f} s", flush=True
            )
            status |= bool(wrong.keys() - KNOWN.keys())
    return status


if __name__ == "__main__":
    raise SystemExit(main())
