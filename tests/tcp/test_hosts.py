"""Ranks on hosts of a file, started by ssh; here ssh is a script that stays on this machine."""

import json
import os
import subprocess
import sys

import pytest

from treecast.errors import PlanError
from treecast.tcp.hosts import deal_out, read_hosts, start_there


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a\nb:2\n\n# none\nc slots=3", [("a", 1), ("b", 2), ("c", 3)]),
        ("worker-1 slots = 4 max_slots=8", [("worker-1", 4)]),
        ('[{"ssh": "a", "ips": ["10.0.0.1"]}, {"ssh": "b"}]', [("a", 1), ("b", 1)]),
        ("", []),
    ],
)
def test_files_of_hosts_as_others_write_them(text, hosts):
    assert read_hosts(text) == hosts


@pytest.mark.parametrize("text", ["a b c", "a slots=x", "a slots=", '[{"host": "a"}]', "["])
def test_what_is_no_file_of_hosts_is_one_line(text):
    with pytest.raises(PlanError):
        read_hosts(text)


@pytest.mark.parametrize("name", ["-oProxyCommand=x", "-l", "", " a", "a b", "a\nb", "a\0b", "\ud800"])
def test_a_name_that_is_an_option_or_none_is_refused_in_both_forms(name):
    forms = [json.dumps([{"ssh": "a"}, {"ssh": name}]), f"a\n{name} slots=2\n"]
    for text in forms[: 1 if not name.startswith("-") else 2]:  # a line cannot say the others
        with pytest.raises(PlanError, match="names no host") as error:
            read_hosts(text)
        assert "\n" not in str(error.value)


def test_ssh_takes_no_name_for_an_option(tmp_path, monkeypatch):
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with start_there("-oProxyCommand=x", ["true"], {}, subprocess.PIPE) as child:
        words = child.communicate(timeout=60)[0].decode().splitlines()
    assert words[-3:-1] == ["--", "-oProxyCommand=x"]


def test_ranks_fill_the_slots_in_order(tmp_path):
    file = tmp_path / "hosts"
    file.write_text("a slots=2\nb\n")
    assert deal_out(str(file), None) == ["a", "a", "b"]
    assert deal_out(str(file), 2) == ["a", "a"]
    with pytest.raises(PlanError, match="room for 3"):
        deal_out(str(file), 4)
    with pytest.raises(PlanError, match="cannot be read"):
        deal_out(str(tmp_path / "none"), 4)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(PlanError, match="is no text, and names no host"):
        deal_out(str(file), 4)


@pytest.mark.parametrize("order", ["", "{}", '{"version": "0", "command": ["x"], "environment": {}}'])
def test_a_seat_without_a_right_order_says_so(order):
    done = subprocess.run(
        [sys.executable, "-m", "treecast.tcp.seat"], input=order + "\n", capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
