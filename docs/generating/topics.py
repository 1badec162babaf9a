"""The pages of topics: those of ``treecast help TOPIC``, as it explains them."""

from importlib import import_module
from pkgutil import iter_modules

from treecast.cli import topics as package

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
    for module in iter_modules(package.__path__):
        if module.name not in without:
            about = import_module(f"{package.__name__}.{module.name}")
            said = f"{about.__doc__} `treecast help {module.name}` prints this."
            title = TITLES.get(module.name, module.name.capitalize())
            found[module.name] = page(title, said, of_description(about.topic()))
    return found
