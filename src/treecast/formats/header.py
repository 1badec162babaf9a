"""What both formats say of a schedule before its rows: words and values, as text."""

from collections.abc import Callable

from treecast.collectives import Collective
from treecast.errors import FormatError, TreecastError
from treecast.models import model
from treecast.networks import FAMILIES, Network, network
from treecast.schedule import Claims, Rows, Schedule

Header = dict[str, str]


def header_of(schedule: Schedule) -> Header:
    """Return the header of a schedule. Raises FormatError when the network has no spelling to find it by again."""
    spec = schedule.network.spec
    if spec.partition(":")[0] not in FAMILIES:
        raise FormatError(
            "a graph that is only in memory cannot be named in a file: write it as GraphML and plan on file:PATH"
        )
    header = {"network": spec, "collective": schedule.collective.kind}
    if not schedule.collective.all_source:
        header["root"] = schedule.network.label(schedule.collective.root)
    header |= {
        "messages": str(schedule.collective.messages), "copies": str(schedule.copies), "model": schedule.model.name,
    }  # fmt: skip
    if schedule.orbit:
        header["orbit"] = "yes"
    if schedule.builder:
        header["builder"] = schedule.builder
    if schedule.claims:
        header["claims"] = f"steps={schedule.claims.steps} transmissions={schedule.claims.transmissions}"
    return header


def schedule_of(header: Header, rows: Callable[[Network, Collective], Rows]) -> Schedule:
    """Return the schedule of a header and of the rows that ``rows(network, collective)`` makes.

    Raises FormatError when the header lacks or misuses a word, or when the parts do not fit.
    """
    for word in ("network", "collective"):
        if word not in header:
            raise FormatError(f"the file does not say its {word}: it needs a line '{word} …'")
    if header.get("orbit", "no") not in ("yes", "no"):
        raise FormatError(f"orbit is yes or no, not {header['orbit'][:20]!r}")
    try:
        where = network(header["network"])
        collective = Collective(
            header["collective"], where.nodes, _number(header, "messages"), where.node(header.get("root", "0"))
        )  # fmt: skip
        return Schedule(
            where, collective, model(header.get("model", "all-port")), rows(where, collective), _number(header, "copies"),
            header.get("orbit") == "yes", _claims(header), header.get("builder", ""),
        )  # fmt: skip
    except FormatError:
        raise
    except TreecastError as error:
        raise FormatError(str(error)) from None


def _number(header: Header, word: str) -> int:
    text = header.get(word, "1")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise FormatError(f"{word} is a whole number, not {text[:20]!r}")
    return int(text)


def _claims(header: Header) -> Claims | None:
    if "claims" not in header:
        return None
    words: Header = {}
    for part in header["claims"].split():
        word, _, value = part.partition("=")
        words[word] = value
    if set(words) != {"steps", "transmissions"}:
        raise FormatError(f"claims are written steps=… transmissions=…, not {header['claims'][:40]!r}")
    return Claims(_number(words, "steps"), _number(words, "transmissions"))
