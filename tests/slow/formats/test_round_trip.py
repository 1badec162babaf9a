"""What is written is read again exactly, in both formats, and nothing that was changed since is."""

import pytest

from tests.formats.test_round_trip import small_files
from treecast.errors import FormatError
from treecast.files import formats


def changed(data):
    """Yield every file that differs in one byte: changed to anything, left out, or put in."""
    for i in range(len(data)):
        for value in range(256):
            if value != data[i]:
                yield data[:i] + bytes([value]) + data[i + 1 :]
        yield data[:i] + data[i + 1 :]
    for i in range(len(data) + 1):
        for value in b"\x00\n# 0a":
            if data[:i] + bytes([value]) != data[: i + 1]:
                yield data[:i] + bytes([value]) + data[i:]


@pytest.mark.each(2)
@pytest.mark.parametrize("name", ["text", "binary"])
def test_every_changed_byte_is_noticed(name):
    data = small_files()[name]
    for other in changed(data):
        if other != data:
            with pytest.raises(FormatError):
                formats.decode(other)
