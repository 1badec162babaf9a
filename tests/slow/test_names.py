"""The words that our page of names rules out stand nowhere: not in the code, its comments and messages, nor on the pages."""

import re
from fnmatch import fnmatch

import pytest

from tests.test_names import ALLOWED, NAMES, ROOT, RULED_OUT, pattern, violations, words_of
from tests.test_site import PAGES

FILES = sorted(
    [
        *(ROOT / "src").rglob("*.py"),
        *PAGES,
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
    ]
)


def test_words_that_are_ruled_out_stand_nowhere():
    paths = {str(file.relative_to(ROOT)): file for file in FILES if file != NAMES}
    assert not [(path, found) for path, file in paths.items() for found in violations(file.read_text(), path)]


@pytest.mark.parametrize("allowed", ALLOWED, ids=lambda allowed: f"{allowed.word}: {allowed.reason}")
def test_every_exception_is_needed(allowed):
    words = RULED_OUT if allowed.word == "*" else [allowed.word]
    texts = [file.read_text() for file in FILES if file != NAMES and fnmatch(str(file.relative_to(ROOT)), allowed.path)]
    parts = [part for text in texts for part in (re.findall(f"(?:{allowed.text})", text) if allowed.text else [text])]
    assert any(re.search(pattern(word), words_of(part)) for word in words for part in parts)
