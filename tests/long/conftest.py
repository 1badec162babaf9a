"""All tests of this folder are long."""

import pytest


def pytest_itemcollected(item):
    item.add_marker(pytest.mark.long)
