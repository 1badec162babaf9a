"""The registry of formats: who writes and reads what, by which names and first bytes, and that a new file suffices."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from treecast import discovery
from treecast.errors import FormatError
from treecast.files import formats
from treecast.files.formats import registry
from treecast.plans import plan

PAGE = Path(__file__).parents[2] / "docs/reference/formats/index.md"


@pytest.fixture
def only_written(monkeypatch):
    """A format that is only written, with a suffix that ends in another's."""
    monkeypatch.setattr(registry, "_EXPORTERS", dict(registry.exporters()))
    registry.exporter("count", suffix=".count.tcb", summary="how many rows")(lambda schedule: b"%d" % len(schedule))


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("plan.tc", "text"),
        ("plan.tcb", "binary"),
        ("folder.tcb/plan", "text"),
        ("plan", "text"),
        ("plan.txt", "text"),
        ("plan.TCB", "text"),
        ("plan.tcb.bak", "text"),
        (".tcb", "text"),
        ("-", "text"),
    ],
)
def test_the_name_of_a_file_chooses_its_format(name, chosen):
    assert registry.format_of_name(name) == chosen


def test_the_longest_suffix_counts(only_written, tmp_path):
    assert registry.format_of_name("plan.count.tcb") == "count"
    assert registry.format_of_name("plan.count.tc") == "text"
    formats.save(plan("broadcast", "ring:4"), tmp_path / "plan.count.tcb")
    assert (tmp_path / "plan.count.tcb").read_bytes() == b"3"
    with pytest.raises(FormatError, match="is no treecast file"):
        formats.load(tmp_path / "plan.count.tcb")


def test_a_format_can_be_named(only_written, tmp_path):
    schedule = plan("broadcast", "ring:4")
    formats.save(schedule, tmp_path / "plan.tc", to="binary")
    assert (tmp_path / "plan.tc").read_bytes() == formats.encode(schedule, "binary")
    assert formats.load(tmp_path / "plan.tc") == schedule
    with pytest.raises(
        FormatError, match=r"'map' is no format that can be written: choose one of binary, .*count, .*text"
    ):
        formats.save(schedule, tmp_path / "plan.tc", to="map")
    assert formats.load(tmp_path / "plan.tc") == schedule


def test_the_first_bytes_tell_the_format(monkeypatch):
    schedule = plan("broadcast", "ring:4")
    for name in set(registry.exporters()) & set(registry.importers()):
        found = registry.exporter_named(name).encode(schedule)
        files = {} if isinstance(found, bytes) else dict(found)
        data = found if isinstance(found, bytes) else files.get("rank0.txt") or files["rank.0.et"]
        assert registry.format_of_bytes(data) == registry.format_of_bytes(data[: registry.HEAD]) == name
    assert registry.format_of_bytes(b"<x>") == registry.format_of_bytes(b"") == ""
    monkeypatch.setattr(registry, "_IMPORTERS", dict(registry.importers()))
    registry.importer("mine", recognises=lambda head: head.lstrip().startswith(b"<x>"))(lambda data: schedule)
    assert formats.decode(b"  <x>" + b" " * 999) is schedule


def test_the_page_lists_what_is_registered():
    writers, readers = registry.exporters(), registry.importers()
    rows = re.findall(
        r"^\| \[`(\S+)`\]\((\S+)\) \| (.*) \| (\S+) \| (\S+) \| (\S+) \|$", PAGE.read_text(), re.MULTILINE
    )
    assert all((PAGE.parent / page).exists() for _, page, *_ in rows)
    assert [(name, *cells) for name, _, _, *cells in rows] == [
        (name, f"`{writers[name].suffix}`" if name in writers else "-", *("yes" if name in part else "no"
         for part in (writers, readers)))
        for name in sorted({*writers, *readers})
    ]  # fmt: skip
    assert {name: says for name, _, says, *_ in rows if name in writers} == {
        w.name: w.summary for w in writers.values()
    }


def test_the_page_lists_every_setting():
    known = {s.keyword: s for entry in registry.exporters().values() for s in entry.settings}
    found = re.findall(r"^\| `--(\S+)` \| `(\S+)` \| (.*) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    assert found == [
        (s.name, key, ", ".join(f"`{e.name}`" for e in registry.exporters().values() if s in e.settings), s.summary)
        for key, s in sorted(known.items())
    ]


def test_settings_are_read_or_refused():
    schedule = plan("broadcast", "ring:4")
    simgrid = registry.exporter_named("simgrid")
    assert simgrid.read_settings({"size": "64k", "latency": 1e-3}) == {"size": 65536, "latency": 1e-3}
    with pytest.raises(FormatError, match=r"format text takes no bytes \(in Python size\): it takes nothing"):
        formats.encode(schedule, "text", size="16M")
    for given, why in (
        ({"size": "many"}, "'many' is no number of bytes"),
        ({"size": "0"}, "'0' is no number of bytes"),
        ({"rate": "-1GB/s"}, "'-1GB/s' is no rate"),
        ({"rate": "nan"}, "'nan' is no rate"),
        ({"latency": "1"}, "'1' has no unit"),
        ({"additions": "fast"}, "'fast' will not do"),
        (
            {"root": "1"},
            "format simgrid takes no root: it takes bytes .in Python size., rate, latency, additions",
        ),
    ):
        with pytest.raises(FormatError, match=why):
            simgrid.read_settings(given)


def test_entries_are_listed_without_importing_them():
    code = (
        "import sys; from treecast.discovery import decorators\n"
        "print(sorted(entry['0'] for entry in decorators('treecast.files.formats', 'exporter')), 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout == f"{sorted(registry.exporters())} False\n"


def test_decorators_are_read_as_text(tmp_path):
    package = tmp_path / "listed_entries"
    (package / "deeper").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (package / "deeper" / "a.py").write_text(
        "import nowhere\n\n@entry('one', 2, into=BOTH, summary='a ' 'b', fits=some.function, of=Unknown)\n"
        "@other\n@entry(\n    'two',\n    into=('x',),\n)\ndef f(a): return 1\n\n@entries('three')\ndef g(): pass\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        found = discovery.decorators("listed_entries", "entry")
    finally:
        sys.path.remove(str(tmp_path))
    assert found == [
        {"0": "one", "1": 2, "into": "BOTH", "summary": "a b", "fits": "some.function", "of": "Unknown"},
        {"0": "two", "into": ("x",)},
    ]
    assert "listed_entries" not in sys.modules


@pytest.mark.parametrize("module", [formats, registry, discovery])
def test_examples_run(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.slow
def test_a_new_file_is_all_that_a_format_needs(tmp_path):
    (tmp_path / "counting.py").write_text(
        "from treecast.files.formats.registry import exporter\n"
        "@exporter('count', suffix='.count', summary='how many rows')\n"
        "def encode(schedule):\n    return b'%d' % len(schedule)\n"
    )
    code = (
        f"import treecast, treecast.files.formats as f; f.__path__.append({str(tmp_path)!r})\n"
        f"treecast.save(treecast.plan('broadcast', 'ring:4'), {str(tmp_path / 'a.count')!r})\n"
        f"print(open({str(tmp_path / 'a.count')!r}).read())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "3\n"
