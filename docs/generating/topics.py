"""The pages of topics: those of ``treecast help TOPIC``, as it explains them."""

from treecast.cli import topics as explained

from .markdown import of_description, page

TITLES = {
    "exit": "Exit statuses",
    "files": "Formats of files",
    "labels": "Labels of nodes",
    "environment": "Environment variables",
}


def topics(without: set[str]) -> dict[str, str]:
    """Return the page of every topic that has no page of its own kind, by its name."""
    found = {}
    for name, describe in explained.topics().items():
        if name not in without:
            said = f"{describe.__doc__} `treecast help {name}` prints this."
            found[name] = page(TITLES.get(name, name.capitalize()), said, of_description(describe()))
    return found
