"""``treecast help``."""

from typing import Annotated

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.options import Json
from treecast.cli.topics import topics
from treecast.description import Description
from treecast.errors import TreecastError, did_you_mean

_TOPICS = topics()


def help(  # noqa: A001
    topic: Annotated[str | None, Parameter(help=f"The topic: {', '.join(_TOPICS)}, or a verb.")] = None,
    /,
    *,
    as_json: Json = False,
) -> int:
    """Explain a topic: the rules, the models and builders, how nodes, faults and files are written.

    Example: treecast help rules
    """
    from treecast.cli.app import app, find_verbs

    if topic is None:
        lines: dict[str, object] = {name: page.__doc__ or name for name, page in _TOPICS.items()}
        verbs = f"The help of a verb: {', '.join(find_verbs())}."
        return console.show(Description(lines, lines={**lines, "VERB": verbs}), as_json)
    if topic in _TOPICS:
        return console.show(_TOPICS[topic](), as_json)
    if topic in find_verbs():
        app.help_print([topic])
        return 0
    known = [*_TOPICS, *find_verbs()]
    raise TreecastError(
        f"{topic!r} is no topic: write one of {', '.join(_TOPICS)}, or a verb{did_you_mean(topic, known)}"
    )
