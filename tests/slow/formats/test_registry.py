"""The registry of formats: who writes and reads what, by which names and first bytes, and that a new file suffices."""

import subprocess
import sys


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
