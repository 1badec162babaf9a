"""The topics of ``treecast help``, a function each: its docstring is the summary, and it returns the page.

Each page is made from the registry or the code that it is about, never from a list of its own.
"""

import ast
import json
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from treecast.against import AGAINST
from treecast.asked import OPTIONS
from treecast.description import Description, Table
from treecast.discovery import decorators, import_all, import_extensions
from treecast.models import MODELS
from treecast.verification.file_rules import rules_of

_TOPICS: dict[str, Callable[[], Description]] = {}


def topic(page: Callable[[], Description]) -> Callable[[], Description]:
    """Register the function below as the page of a topic of its name."""
    _TOPICS[page.__name__.rstrip("_")] = page
    return page


def topics() -> dict[str, Callable[[], Description]]:
    """Return the topics by their names, in alphabetical order: those here, and those in folders ``topics`` of wings."""
    import_all("treecast", "topics")
    return dict(sorted(_TOPICS.items()))


@topic
def builders() -> Description:
    """The builders, with their collectives and models."""
    from treecast.plans.entries import all_builders, kinds_of

    entries = sorted(all_builders(), key=lambda entry: (entry.name, entry.models))
    rows = [
        (
            entry.name,
            entry.summary,
            ", ".join(kinds_of(entry)),
            ", ".join(entry.models),
            ", ".join(f"--{option.name}" for option in entry.options),
        )
        for entry in entries
    ]
    columns = ("builder", "construction", "collectives", "models", "options")
    notes = (
        "'treecast builders COLLECTIVE NETWORK' says the cost of each for a job, which one is the default, and why.",
    )
    return Table(columns, rows, of="builders").alone(notes)


_VARIABLES = """\
NUMBA_CACHE_DIR | you | where compiled code is kept, if not beside the package or in the user's cache folder
NUMBA_DISABLE_JIT | you | 1: nothing is compiled, and large work takes long
TREECAST_PLUGINS | you, --plugin FILE | files and modules that add networks, builders, formats, …,
  with the sign between them that PATH has
XDG_CACHE_HOME | you | the user's cache folder, if it is not ~/.cache
XDG_RUNTIME_DIR | you | where the secret of a user's own jobs over sockets is kept, if not in the temporary folder
TREECAST_NETWORK | you, the lab, launch --tcp --network | the network between the ranks; over sockets
  its links are the only connections
TREECAST_RATE | the lab | the rate of a link, in bits per second; else plans over a network measure it
TREECAST_LAB | the lab | a folder in memory that all hosts share; a file mark in it starts the clock of cuts
TREECAST_JOB | launch, the lab | the file for the exit status of a rank that fails; beside it: how ranks end
TREECAST_TAG | launch --tag | 1: the number of its rank stands before each line that a rank prints
TREECAST_LOGS | launch --logs | a folder with a file for the lines of each rank
TREECAST_ON_ERROR | you, on_error=… | die: a rank that fails leaves the others alive; abort: it ends the job
OMPI_MCA_mpi_ft_enable | mpirun --with-ft ulfm | 1: MPI outlives dead ranks; survive asks for it
OMPI_MCA_mpi_yield_when_idle | launch | 1: there may be more ranks than cores
OMPI_MCA_btl_sm_eager_limit | launch | bytes up to which a message that is too long harms nothing
OMPI_MCA_opal_signal | launch | empty: a rank that crashes dies at once
OMPI_ALLOW_RUN_AS_ROOT | launch | 1, as OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: mpirun works for root
OMPI_COMM_WORLD_RANK | mpirun | the rank of a process
OMPI_COMM_WORLD_SIZE | mpirun | as PMIX_RANK or PMI_RANK: the program runs under MPI
PMI_SIZE | mpiexec, srun | how many ranks there are
TREECAST_RANK | launch --tcp | the rank of a process, of TREECAST_SIZE
TREECAST_MEET | launch --tcp, you | host:port where ranks over sockets meet
TREECAST_TIE | launch --tcp | the process with which the rank ends: with --tie the launcher
TREECAST_JOIN | launch --tcp --respawn | 1: the process was started anew, in the seat of a dead rank
TREECAST_SECRET | launch --tcp, you | the secret that ranks over sockets prove to know; they take it out. Or
  TREECAST_SECRET_FILE, where it stands
RANK | launch --tcp | with WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT: the
  variables of torch.distributed
TREECAST_CMA | you | 0: ranks over sockets on one host do not read each other's memory
TREECAST_SURVIVE | you | how many ranks may fail in a call
TREECAST_DEADLINE | you | seconds after which a silent rank is out, or none
TREECAST_LATE | you | seconds after which a rank that does not come to a call is out, or none
TREECAST_SURE | you | 1: nobody returns from a small call before all have the data
TREECAST_ON_FAILED | you | warn, raise or ignore: the end of a call that misses data of the dead
TREECAST_SUMS | you | any, by-rank or exact: what the bits of a sum of floats depend on
TREECAST_SLOW | you | seconds after which a rank asks those it waits for where they are; 5 is usual, none is never
TREECAST_LOG | you | info or debug: lines of events on standard error; else a folder for a file of JSON lines of each rank
TREECAST_DUMP | you | a folder for the last calls of each rank, which stay there when it is killed
TREECAST_SITES | you | 1: records and errors of unlike calls name the line of the program that makes a call
NUMBA_NUM_THREADS | launch | 1, as OMP_NUM_THREADS: a rank has one core
"""
VARIABLES = [tuple(line.split(" | ")) for line in _VARIABLES.replace("\n  ", " ").splitlines()]
"""Their names, who sets them, and their meaning."""


@topic
def environment() -> Description:
    """Which environment variables treecast reads, and which it sets for the programs that it starts."""
    columns = ("variable", "set by", "says")
    return Table(columns, VARIABLES, of="variables").alone()


STATUSES = (
    (0, "it holds: the schedule is right, everything arrived, every statement has its known verdict"),
    (1, "it is violated: a rule is broken, data is missing, a bound is beaten"),
    (2, "it cannot be done: standard error says why in one line, and nothing is half-written"),
    (
        3,
        "it is not known: the report says what is missing; a file may hold all the same, but for contents that it does not say",
    ),
    (124, "the time limit of 'launch', 'lab run' or 'run --mpi' has passed"),
    (130, "interrupted by Ctrl-C"),
)


@topic
def exit_() -> Description:
    """The exit statuses and their meaning."""
    notes = (
        "'verify' returns 3 for a file that does not say its collective, and 'why' where the records name nobody.",
        "'launch' and 'lab run' else return the status of the program that they start: of the first rank that failed.",
        "'launch' returns 128 + n when signal n killed all ranks; with --intact, when it killed any.",
    )
    return Table(("status", "means"), STATUSES, of="statuses").alone(notes)


@topic
def faults() -> Description:
    """Faults: their effect, how they are written, and which verbs take them."""
    from treecast.cli.arguments import BrokenParts, LiarOptions, RandomFaultOptions

    rows = [
        (f"--{name.replace('_', '-')}", text)
        for options in (RandomFaultOptions, LiarOptions, BrokenParts)
        for name, text in _helps(options)
    ]
    notes = (
        "A faulty node or arc transmits nothing from its step on; without @STEP, from the start. Nodes do not detect faults.",
        "A living node sends a chunk if it holds it, whichever way it came, and leaves out the row otherwise.",
        f"--survive F plans F + 1 disjoint paths; --against says which parts may fail: {', '.join(AGAINST)}.",
        "Paths that share no node share no link and no arc. Where paths meet, a sweep tells which faults they survive.",
        "'verify --sweep nodes|links|arcs' replays a schedule under every set of so many faults.",
    )
    columns = ("option", "meaning")
    return Table(columns, rows, of="options").alone(notes)


def _helps(options: Any) -> list[tuple[str, str]]:
    """Return the fields of a class of options, each with its sentence of help."""
    hints = get_type_hints(options, include_extras=True)
    return [
        (name, str(note.help))
        for name, hint in hints.items()
        for note in getattr(hint, "__metadata__", ())
        if getattr(note, "help", None)
    ]


@topic
def labels() -> Description:
    """How nodes are written: the labels of each family."""
    from treecast.networks import families, network

    rows = list[tuple[str, str, str]]()
    for family in families().values():
        if family.arguments == "PATH":
            continue
        where = network(family.example)
        shown = [0, 1, 2, where.nodes - 1]
        rows.append(
            (family.spelling, family.example, " ".join(where.labels(shown[:3])) + f" … {where.label(shown[3])}")
        )
    columns = ("network", "for example", "its nodes")
    notes = (
        "A node may also be written as its number, from 0 to N - 1. A text that could be both is a label.",
        "Several nodes: spaces between them. NODE@STEP: from that step on.",
        "Links: A-B both ways, 'A>B' one way (in quotes), A-B#0 the first of parallel cables.",
        "Less its broken parts: 'torus:4x4 without links 0,0-0,1 nodes 3,3', or --cut-links and --dead-nodes.",
    )
    return Table(columns, rows, of="families").alone(notes)


@topic
def machines() -> Description:
    """Which files of machines are read as networks, and which machines are known by name."""
    from treecast.networks.machines import machines

    kinds = sorted((each["0"], each["summary"]) for each in decorators("treecast", "reader", "reading"))
    known = [(f"machine:{name}", each.summary) for name, each in machines().items()]
    options = [(f"--{name}", each.summary) for name, each in OPTIONS.items()]
    notes = (
        "The first bytes of a file tell its kind; --format decides where two kinds would do.",
        "Switches add sums only where the file, the machine or --relays-add says so: adds=true of a node, a SHARP node, NVLS.",
        "'--relays-add no' says that none does, whatever the file says.",
    )
    figures = {"files": dict(kinds), "options": dict(options), "machines": dict(known)}
    tables = (
        Table(columns=("kind of file", "printed by"), rows=kinds, of="kinds"),
        Table(columns=("option", "meaning"), rows=options, of="options"),
        Table(columns=("machine", "description"), rows=known, of="machines"),
    )
    return Description(figures, tables=tables, notes=notes)


@topic
def models() -> Description:
    """The models: the powers of a node and a link in one step."""
    import_extensions()
    rows = [(name, preset.summary) for name, preset in MODELS.items()]
    notes = (
        "',half' behind a name (one-port,half): a link transmits in one direction in a step, not in both.",
        "',combining' (one-port,combining): a message holds any number of chunks.",
        "',partner' (one-port,partner): a node sends to one neighbour in a step, and receives from the same.",
        "',ports=K' (one-port,ports=2): a node sends over K links in a step, and receives over K.",
        "',latency=L' (one-port,latency=3): a chunk that is sent in a step can be sent on L steps later.",
    )
    figures = [{"model": name, "summary": summary} for name, summary in rows]
    return Description(figures, tables=(Table(columns=("model", "in a step"), rows=rows, of="models"),), notes=notes)


# Rule ``name``, where it applies: what it asks. More of it
_RULE = re.compile(r"Rule ``([a-z-]+)``(?:, ([^:]*))?: (.+?\.)(?:\s+([A-Z].*))?$", re.DOTALL)
_ABOUT = {
    "links": "links",
    "spreading": "data that spreads",
    "personal": "personal data",
    "sums": "sums",
    "disjoint": "copies",
    "calling": "copies, sparing schedules",
    "wormhole": "wormhole switching",
    "bufferless": "no buffers",
    "verifier": "the builder's claims",
}


class ScheduleRule(NamedTuple):
    """A rule: its name, where it applies, its demand in a sentence, more to say of it, and the file that judges it."""

    name: str
    of: str
    asks: str
    more: str
    file: str


def read_rules() -> list[ScheduleRule]:
    """Return every rule, read from the docstrings of the functions that judge it."""
    spec = find_spec("treecast.verification")
    folder = Path((spec and spec.origin) or "").parent
    found = list[ScheduleRule]()
    for stem, about in _ABOUT.items():
        path = folder / "verifier.py" if stem == "verifier" else folder / "rules" / f"{stem}.py"
        for node in ast.parse(path.read_text("utf-8")).body:
            match = isinstance(node, ast.FunctionDef) and _RULE.match(ast.get_docstring(node) or "")
            if match:
                name, when, asks, more = match.groups()
                plain = " ".join(asks.replace("``", "").split())
                found.append(ScheduleRule(name, when or about, plain, more or "", stem))
    return found


@topic
def rules() -> Description:
    """The rules that 'verify' names in a report."""
    import_all("treecast", "formats")  # formats say by whose rules they are judged
    rows = [(rule.name, rule.of, rule.asks) for rule in read_rules()]
    table = Table(columns=("rule", "of", "asks that"), rows=rows, of="rules")
    others = [(rule.name, ", ".join(rule.of), f"{rule.asks}{' (a warning)' * rule.warns}") for rule in rules_of()]
    files = Table(columns=("rule", "of files of", "asks that"), rows=others, of="rules of files of other tools")
    notes = ("A schedule obeys those that its model and its collective call for; 'verify' prints which.",)
    figures = [{"rule": name, "of": of, "asks": asks} for name, of, asks in rows + others]
    return Description(figures, tables=(table, files), notes=notes)


@topic
def schema() -> Description:
    """The fields of ``verify --json`` and ``why --json``; with --json their JSON Schemas, by verb."""
    found = sorted(Path(__file__).parents[1].rglob("*.schema.json"), key=lambda file: file.name)
    schemas = {file.name.partition(".")[0]: json.loads(file.read_text("utf-8")) for file in found}
    rows = [(verb, *row) for verb, schema in schemas.items() for row in _fields_of(schema["properties"])]
    notes = ('Where a verb with --json cannot do its work, it prints {"error": TEXT} and returns 2.',)
    return replace(Table(("of", "field", "means"), rows, of="fields").alone(notes), figures=schemas)


def _fields_of(properties: dict[str, Any], before: str = "") -> list[tuple[str, str]]:
    """Return the fields of a JSON Schema with their meanings, those of objects in lists behind the list."""
    found = list[tuple[str, str]]()
    for name, about in properties.items():
        if "description" in about:
            inner = about.get("items", {}).get("properties", {})
            found += [(before + name, about["description"]), *_fields_of(inner, f"{before}{name}[].")]
    return found


_PAGES = Path(__file__).with_name("names.md"), Path(__file__).parents[3] / "docs" / "reference" / "names.md"
"""Where the page on names is: beside this file in an installed package, else among the pages of the repository."""


@topic
def words() -> Description:
    """The words of reports: one word for each concept."""
    page = next(path for path in _PAGES if path.is_file()).read_text("utf-8")
    lines = [line.strip("|").split("|") for line in re.sub(r"[`*]", "", page).splitlines() if line.startswith("|")]
    rows = [(word.strip(), says.strip()) for word, says, *_ in lines[2:]]  # behind the head and the line below it
    return Table(("word", "means"), rows, of="words").alone()
