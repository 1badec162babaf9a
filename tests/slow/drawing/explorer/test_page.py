"""The page: one file that needs nothing else, of bounded size, whose data are the schedule's."""

import re
from html.parser import HTMLParser

import pytest

from tests.drawing.explorer.cases import SORTS, planned
from tests.drawing.explorer.test_page import MOST_BYTES, page

EMPTY = {"meta", "input", "link", "br"}


class Balanced(HTMLParser):
    """Refuses HTML whose elements are not closed in order; keeps ids and what is loaded from elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.loaded = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in EMPTY:
            self.open.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.loaded += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("sort", SORTS)
def test_a_page_is_one_file_that_loads_nothing(sort):
    text = page(planned(sort))
    assert len(text.encode()) < MOST_BYTES
    assert "http" not in text.lower()
    assert "import " not in re.sub(r"\s//.*", "", text[text.index("<script") :])
    parser = Balanced()
    parser.feed(text)
    assert not parser.open
    assert not parser.loaded
    assert len(set(parser.ids)) == len(parser.ids)
