"""What people type by mistake: each slip is one line that says what is wrong and what would be right."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from treecast.cli import main
from treecast.networks import network


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slips")
    assert main(["plan", "broadcast", "star:3", "--messages", "4", "--survive", "1", "-o", str(folder / "p.tc")]) == 0
    assert main(["plan", "scatterv", "path:4", "--lengths", "3", "-o", str(folder / "sv.tc")]) == 0
    (folder.parent / "more").mkdir()
    assert main(["plan", "allgather", "ring:4", "-o", str(folder.parent / "more" / "ring.tc")]) == 0
    assert main(["export", str(folder.parent / "more" / "ring.tc"), "-o", str(folder.parent / "more" / "x.xml")]) == 0
    head = "# network ring:4\n# collective broadcast\nstep,src,dst,chunks\n0,0,1,0\n"
    (folder.parent / "more" / "prose.md").write_text(
        "# Treecast\n\nIt computes when each of the nodes of a network sends to the others.\n"
    )
    (folder.parent / "more" / "two.ibnetdiscover").write_text(
        'Switch 2 "S-1" # "a"\n[1] "H-1"[1] # 4xHDR\nCa 1 "H-1" # "x"\n'
    )
    (folder.parent / "more" / "nine.csv").write_text(head + "0,0,3,0\n1,1,2,9\n")
    (folder.parent / "more" / "cells.csv").write_text(head + "0,0,3,0\n1,1,2\n")
    return folder


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("plna broadcast star:3", "there is no verb 'plna': 'treecast --help' lists the verbs; did you mean 'plan'?"),
        ("lab ran star:3", "there is no verb 'ran': 'treecast lab --help' shows the usage"),
        ("plan", "COLLECTIVE is missing: 'treecast plan --help' shows the usage"),
        ("run p.tc", "--input is missing: 'treecast run --help' shows the usage"),
        (
            "plan broadcast star:3 --mesages 5",
            "plan has no option --mesages: 'treecast plan --help' shows the usage; did",
        ),
        (
            "verify p.tc --dead-nodes 213",
            "'treecast verify --help' shows the usage; plan, simulate and export have it",
        ),
        (
            "reliability p.tc --cut-links 123-213",
            "'treecast reliability --help' shows the usage; plan, run and cables have it",
        ),
        ("show p.tc --sweep nodes", "'treecast show --help' shows the usage; verify has it"),
        (
            "plan broadcast star:3 --sweep nodes",
            "plan has no option --sweep: 'treecast plan --help' shows the usage; verify",
        ),
        ("show p.tc --no-such", "'treecast show --help' shows the usage"),
        ("verify n=5.tc", "'n=5.tc' cannot be read: No such file or directory"),
        ("plan broadcast star:3 --survive", "--survive has no value: 'treecast plan --help' shows the usage"),
        ("plan broadcast star:3 --survive x", "--survive x will not do: write a whole number"),
        ("plan broadcast star:3 --survive 1 --survive 1", "--survive is given twice: give it once"),
        ("simulate p.tc --seed x", "--seed x will not do: write a whole number"),
        (
            "verify p.tc --sweep node",
            "--sweep node will not do: write one of nodes, arcs, links, nodes+arcs, nodes+links; did",
        ),
        ("simulate p.tc --dead-nodes", "--dead-nodes has no value: write one or more behind it"),
        ("simulate p.tc --cut-links", "--cut-links has no value: write one or more behind it"),
        ("run p.tc --input p.tc --lying-nodes", "--lying-nodes has no value: write one or more behind it"),
        (
            "plan ring:4 allreduce",
            "'allreduce' is no network but a collective: a network is spelled like ring:8, and --help",
        ),
        ("cables all-reduce ring:4", "'all-reduce' is no network but a collective"),
        ("plan broadcast star:3 --ports 2", "shows the usage; the machine says it, as in --model one-port,ports=2"),
        ("plan broadcast star:3 -o x.html", "'treecast draw' makes pictures of one; a schedule is called plan.tc"),
        ("paths star:3 213 -o x.html", "write to a file that ends in .svg, .png, .pdf"),
        ("networks ../more/prose.md", "it looks like prose, which is not read: give what a tool has printed"),
        (
            "doctor ../more/two.ibnetdiscover --network ring:4",
            "no log of a benchmark but a network (InfiniBand): give it as --network",
        ),
        ("doctor ../more/prose.md --network ring:4", "as in 'all_reduce_perf -b 1M -e 1G -f 2 > log.txt'"),
        (
            "why ../more/prose.md",
            "ranks of treecast leave them where TREECAST_DUMP=records is set, PyTorch's where TORCH_FR_BUFFER",
        ),
        (
            "verify ../more/x.xml --sweep nodes",
            "'treecast verify ../more/x.xml -o plan.tc' makes one of this file, and --sweep takes that",
        ),
        ("verify ../more/nine.csv", "line 6: a payload names chunk 9; chunks go from 0 to 0"),
        ("verify ../more/cells.csv", "line 6: it has 3 cells, and a message the columns step,src,dst,chunks"),
        ("plan broadcst star:3", "did you mean 'broadcast'?"),
        ("plan Broadcas star:3", "did you mean 'broadcast'?"),
        ("plan broadcast Star:3", "write star:N, as in star:5; did you mean 'star:3'?"),
        ("plan broadcast strar:3", "did you mean 'star:3'?"),
        ("plan broadcast Mesh:4,4", "did you mean 'mesh:4x4'?"),
        ("plan broadcast tree:2x2", "did you mean 'tree:2,2'?"),
        ("plan star:3 broadcast", "'broadcast' is no network but a collective"),
        ("bounds star:3 broadcast", "'broadcast' is no network but a collective"),
        (
            "plan broadcast p.tc",
            "cannot read the network 'p.tc': it is a plan, no network: 'treecast show' says on which one",
        ),
        ("plan broadcast star:4 --survive 9", "10 copies, to survive 9 dead nodes, need 10 node-disjoint paths"),
        ("plan broadcast star:3 --order 1,0", "takes order (dimension-order needs a hypercube;"),
        ("plan broadcast star:3 --fault-free", "takes fault-free (dimension-order needs a hypercube;"),
        ("plan allgather star:3 --initiator 1", "takes initiator (four-phases needs a hypercube)"),
        ("verify p.tc --most 2", "--most says how to sweep"),
        ("verify p.tc --keep-going", "--keep-going says how to sweep"),
        ("simulate p.tc --dead-nodes 213,312", "'213,312' is no node of star:3: put spaces between nodes"),
        (
            "plan broadcast star:4 --root 1235",
            "a label has each of the symbols 1 to 4 once, as 4321: 5 is none of them",
        ),
        ("plan broadcast star:4 --root 1233", "as 4321: 3 stands twice"),
        ("plan broadcast star:4 --root 99", "nodes go from 0 to 23, with labels like 4321"),
        ("plan broadcast mesh:4x4 --root 4,0", "coordinates go from 0,0 to 3,3"),
        ("plan broadcast mesh:4X4", "write mesh:AxBx…, as in mesh:8x8x8; did you mean 'mesh:4x4'?"),
        ("plan broadcast star:3 -o plan.png", "'treecast draw' makes pictures"),
        ("plan broadcast star:3 -o plan.json", "--json prints findings"),
        ("plan broadcast star:3 star:4", "'star:4' is one argument too many: 'treecast plan --help'"),
        ("plan broadcast star:3 --messages 1.5", "'1.5' is no number of messages: write it as in 400, 64k or 1e6"),
        ("plan broadcast star:3 --messages 1e300", "error: '1e300' is no number of messages: write it as in 400"),
        ("completion csh", "error: SHELL csh will not do: write one of bash, zsh, fish"),
        ("plan broadcast star:3 --json=maybe", "error: --json takes no value: leave 'maybe' out"),
        ("plan broadcast star:3 --no-json", "'treecast plan --help' shows the usage; did you mean '--json'?"),
        ("plan broadcast star:3 --messages many", "'many' is no number of messages"),
        ("plan broadcast star:3 --messages -4", "-4 messages cannot be sent"),
        ("plan scatter star:3 --flit 4k", "--flit says how long the files of --files are"),
        ("plan scatterv tree:2,2 --lengths 3 --flit 100", "--flit says how long the files of --files are"),
        ("plan scatterv tree:2,2 --lengths nan", "'nan' is neither a length nor a file"),
        ("plan scatterv tree:2,2 --lengths random:3 --seed -1", "--seed -1 will not do"),
        ("plan multicast mesh:4x4 --targets 0,0", "the root 0,0 has the data and is no target"),
        ("plan multicast mesh:4x4 --targets 1,1 1,1", "target 1,1 is named twice"),
        ("plan broadcast mesh:3000x3000x3000", "'program' still gives one node's rows of the broadcast"),
        ("plan broadcast complete:40000", "a schedule can name 32,768; take a network of less degree"),
        ("program broadcast complete:1048576 5", "a schedule can name 32,768; take a network of less degree"),
        ("draw p.tc --kind steps", "star:3 is neither mesh nor torus; draw trees, space-time"),
        ("draw p.tc --kind sources -o a.png", "star:3 is no mesh"),
        ("run p.tc --input p.tc --output .", "'.' is there already, and not empty: name a new folder"),
        ("run p.tc --input p.tc --output out --lying-nodes 213", "--output writes the data that arrives"),
        ("run sv.tc --input .", "'p.tc' belongs to no node of path:4: call files like nodes, as in 0"),
        ("draw p.tc --ascii -o a.png", "--ascii is for text"),
        ("draw sv.tc --kind sources -o a.png", "it shows wormhole broadcasts, and this is none"),
        ("show p.tc --tree 9", "there is no tree 9: the schedule has tree 0, tree 1"),
        ("show p.tc --steps 4:2", "--steps 4:2 is empty"),
        ("show p.tc --steps 100:200", "--steps 100:200 is empty: the schedule has the steps 0 to"),
        ("reliability", "no schedule is named: treecast reliability plan.tc --node-failure 0.01"),
        ("reliability p.tc", "nothing can fail: give nodes, links or arcs a probability above 0"),
        ("reliability p.tc --node-failure 0 --link-failure 0", "nothing can fail"),
        ("reliability p.tc --node-failure 1.01", "1.01 is no probability of all nodes: write a number from 0 to 1"),
        ("reliability p.tc --node-failure nan", "nan is no probability of all nodes"),
        ("reliability p.tc --node-failure -0.1", "-0.1 is no probability of all nodes"),
        ("reliability p.tc --link-failure inf", "inf is no probability of all links"),
        ("reliability p.tc --arc-failure 2", "2.0 is no probability of all arcs"),
        ("reliability p.tc --node-failure 101%", "'101%' cannot be read"),
        ("reliability p.tc --link-failure 101%", "'101%' is no probability: write 0.01, or 1%"),
        ("plan broadcast star:3 -o plan.tc.gz", "treecast compresses no files, and .tcb is short"),
        ("plan broadcast star:3 --survive 1.5", "--survive 1.5 will not do: write a whole number"),
        ("export p.tc -o x.xml --bytes 64k", "format msccl takes no --bytes: it takes copies"),
        ("reliability p.tc --node-failure sv.tc", "write a node and its probability, as in 2143,0.01"),
        ("reliability p.tc --node-failure 0.1 --workers 0", "0 workers will not do"),
        ("reliability p.tc --node-failure 0.1 --sets 1", "1 sets and confidence 0.95 will not do"),
        ("reliability p.tc --node-failure 0.1 -o p.xyz", "'p.xyz' is no picture"),
        ("times hypercube:4 --latency nan --rate 1GB/s", "'nan' is no time"),
    ],
)
def test_a_slip_is_answered_in_one_line(
    command: str, says: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    assert main(command.split()) == 2
    shown = capfd.readouterr()
    assert says in shown.err
    assert (shown.err.count("\n"), shown.out) == (1, "")
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("text", "messages"), [("1e3", 1000), ("2k", 2000), ("1_000", 1000), ("2.0", 2), ("1.5k", 1500)]
)
def test_numbers_of_messages_may_be_written_short(text: str, messages: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bounds", "broadcast", "ring:5", "--messages", text]) == 0
    assert f"at least {4 * messages:,} = M x (N - 1)" in capsys.readouterr().out


@pytest.mark.parametrize("how", ["CRLF", "byte order mark", "both"])
def test_files_that_windows_has_touched_are_read(how: str, folder: Path, tmp_path: Path) -> None:
    data = (folder / "p.tc").read_bytes()
    data = data if how == "byte order mark" else data.replace(b"\n", b"\r\n")
    (tmp_path / "w.tc").write_bytes(data if how == "CRLF" else b"\xef\xbb\xbf" + data)
    assert main(["verify", str(tmp_path / "w.tc")]) == 0
    (tmp_path / "w.tc").write_bytes(data.replace(b"0+", b"1+", 1))
    assert main(["verify", str(tmp_path / "w.tc")]) == 2


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("u.tc", "treecast 2\n".encode("utf-16"), "'u.tc' is text in UTF-16: save it as UTF-8"),
        ("u.edges", "a b\n".encode("utf-16"), "it is text in UTF-16: save it as UTF-8"),
        ("l.edges", "ä b\n".encode("latin-1"), "it is no text in UTF-8, and no GraphML: write two names"),
        ("b.edges", bytes(range(256)), "it is no text in UTF-8, and no GraphML"),
        ("b.graphml", bytes(range(256)), "it is no GraphML"),
        ("t.graphml", b"hello", "it is no GraphML"),
        (
            "m.tc",
            b"treecast 2\nnetwork star:3\ncollective broadcast\nmessages -4\nrows 0\n",
            "from 1 to 2147483647, not '-4'",
        ),
    ],
)
def test_what_is_no_text_is_named(
    name: str,
    content: bytes,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    assert main(["verify", name] if name.endswith(".tc") else ["plan", "broadcast", name]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("text", ["a b 2\nb c\n", "a,b,2\r\nb,c", "\ufeffa b 2\r\nb c"])
def test_edge_lists_may_have_weights_commas_and_marks(text: str, tmp_path: Path) -> None:
    (tmp_path / "net.edges").write_bytes(text.encode())
    where = network(f"{tmp_path}/net.edges")
    assert (where.labels(), where.arcs) == (["a", "b", "c"], 6)


def test_a_run_writes_what_every_living_node_received(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(bytes(range(97)))
    assert main(["plan", "scatter", "ring:4", "-o", str(tmp_path / "s.tc")]) == 0
    for plan, faults, names in ((folder / "p.tc", ["--dead-nodes", "213@1"], 5), (tmp_path / "s.tc", [], 4)):
        out = tmp_path / plan.stem
        assert main(["run", str(plan), "--input", str(tmp_path / "data.bin"), "--output", str(out), *faults]) == 0
        received = {path.name: path.read_bytes() for path in out.iterdir()}
        assert len(received) == names
        assert "213.bin" not in received
        if faults:
            assert set(received.values()) == {bytes(range(97))}
        else:
            assert b"".join(received[f"{node}.bin"] for node in range(4)) == bytes(range(97))


def test_a_file_of_a_later_version_says_so(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.tc").write_bytes((folder / "p.tc").read_bytes().replace(b"treecast 2", b"treecast 9", 1))
    assert main(["verify", str(tmp_path / "p.tc")]) == 2
    assert "format version 9: this treecast reads 1 and 2" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize(
    ("command", "status"),
    [("--help", 0), ("plan --help", 0), ("show p.tc", 0), ("run p.tc --input p.tc --dead-nodes 123@1", 1)],
)
def test_a_reader_that_leaves_early_changes_no_verdict(command: str, status: int, folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "treecast", *command.split()],
        cwd=folder,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        timeout=300,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (status, b"")
