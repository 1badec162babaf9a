"""A job is one noun: each verb takes it, and answers as it does to the words that the job was made of."""

from inspect import getdoc, signature
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from treecast.collectives import COLLECTIVES
from treecast.errors import PlanError, TreecastError
from treecast.files import formats
from treecast.plans import plan_again

BYTES = {"bytes": "64KiB", "latency": "1us", "rate": "1GB/s"}
ASKED: list[tuple[str, Any, dict[str, Any]]] = [
    ("broadcast", "star:4", {"messages": 6, "survive": 2, "root": "2143"}),
    ("broadcast", "torus:3x3", {"messages": 5, "copies": 2, "against": "links"}),
    ("broadcast", "hypercube:3", {"model": "shouting", "survive": 2, "fault_free": True}),
    ("allgather", "hypercube:3", {"model": "whispering", "initiator": "0b101", "order": "1,0,2"}),
    ("allgather", nx.petersen_graph(), {"messages": 2}),
    ("alltoall", nx.hypercube_graph(3), {"copies": 2}),
    ("allreduce", "complete:5", {"messages": 2}),
    ("scatter", "star:4", {"copies": 2, "trees": "paper"}),
    ("reduce", "torus:3x4", {"root": "1,2", "builder": "breadth-first-tree"}),
    ("multicast", "mesh:4x4", {"targets": ["3,3", "0,2"], "model": "wormhole,half"}),
    ("scatterv", "tree:2,2", {"lengths": [0, 3, 1, 2, 0, 4, 1], "first": "longest"}),
    ("gatherv", "path:5", {"lengths": {"1": 3, "2": 0, "3": 1, "4": 2}}),
    ("alltoallv", "complete:3", {"lengths": [[0, 1, 2], [3, 0, 1], [0, 0, 0]], "model": "one-port"}),
]
SPELLED = [each for each in ASKED if isinstance(each[1], str)]


def costs(found):
    return [(each.builder.name, each.claims, each.reason) for each in found.candidates]


@pytest.mark.parametrize(("kind", "where", "words"), ASKED)
def test_each_verb_answers_a_job_as_its_words(kind, where, words):
    job = treecast.job(kind, where, **words)
    assert treecast.plan(job) == treecast.plan(kind, where, **words)
    assert treecast.bounds(job) == treecast.bounds(kind, where, **words)
    by_job, by_words = treecast.alternatives(job), treecast.alternatives(kind, where, **words)
    assert (costs(by_job), by_job.why) == (costs(by_words), by_words.why)
    assert treecast.plan(by_job.job) == treecast.plan(job)


def answer(ask):
    """Return what is answered, or the words of the error."""
    try:
        return ask()
    except TreecastError as error:
        return f"{type(error).__name__}: {error}"


KINDS = st.sampled_from(sorted(kind for kind, row in COLLECTIVES.items() if not row.targets and kind[-1] != "v"))
PLACES = st.sampled_from(["star:3", "ring:5", "hypercube:3", "mesh:2x3", "complete:4", "kautz:2,2"])
MODELS = st.sampled_from([None, "all-port", "one-port", "one-port,half", "shouting", "whispering"])


@given(KINDS, PLACES, MODELS, st.integers(1, 4), st.integers(0, 2))
def test_whatever_the_words_plans_and_bounds_are_the_same(kind, where, model, messages, survive):
    words = {"model": model, "messages": messages, "survive": survive}
    for verb in (treecast.plan, treecast.bounds):
        by_words = answer(lambda verb=verb: verb(kind, where, **words))
        assert answer(lambda verb=verb: verb(treecast.job(kind, where, **words))) == by_words


@pytest.mark.parametrize(("kind", "where", "words"), ASKED)
def test_a_schedule_says_its_job_and_the_job_gives_the_same_rows(kind, where, words):
    schedule = treecast.plan(kind, where, **words)
    job = treecast.job(schedule)
    assert treecast.plan(job) == schedule == plan_again(schedule)
    assert treecast.job(job) is job
    assert (job.collective.kind, job.network, job.model) == (kind, schedule.network, schedule.model)


@pytest.mark.parametrize(("kind", "where", "words"), SPELLED)
def test_a_file_says_its_job(kind, where, words, tmp_path):
    schedule = treecast.plan(kind, where, **words)
    formats.save(schedule, tmp_path / "plan.tcb")
    assert treecast.plan(treecast.job(formats.load(tmp_path / "plan.tcb"))) == schedule


def test_a_schedule_that_no_builder_made_has_a_job_for_any():
    torn = treecast.repair(treecast.plan("broadcast", "torus:4x4", messages=200), cut_links=["0,0-0,1"]).schedule
    assert not torn.recipe.builder
    job = treecast.job(torn)
    assert job.builder is None
    assert treecast.plan(job) == treecast.plan("broadcast", torn.network, messages=200, model="all-port")


@pytest.mark.parametrize("words", [{}, {"messages": 40}, {"survive": 1}, {"builder": "breadth-first-tree"}])
def test_bytes_are_words_of_a_job_or_stand_beside_it(words):
    expected = treecast.plan("broadcast", "torus:4x4", **words, **BYTES)
    asked = treecast.job("broadcast", "torus:4x4", **words)
    assert treecast.plan(treecast.job("broadcast", "torus:4x4", **words, **BYTES)) == expected
    assert treecast.plan(asked, **BYTES) == treecast.plan(treecast.job(asked, **BYTES)) == expected
    assert (expected.collective.messages == 40) == ("messages" in words)


def test_a_job_that_says_its_messages_keeps_them_where_bytes_are_given():
    one = treecast.job("broadcast", "torus:4x4", messages=1)
    asked = treecast.job("broadcast", "torus:4x4")
    assert treecast.plan(one, **BYTES).collective.messages == 1 < treecast.plan(asked, **BYTES).collective.messages
    assert treecast.plan(asked, bytes="64KiB", chunk=4096).collective.messages == 16
    with pytest.raises(PlanError, match="give the bytes of a chunk or the number of messages"):
        treecast.plan(one, bytes="64KiB", chunk=4096)


@pytest.mark.parametrize("node", [0, "0,0,1", "3,2,1"])
def test_a_program_is_of_a_job_or_of_its_words(node):
    words = {"messages": 60, "survive": 2, "root": "1,2,3"}
    job = treecast.job("broadcast", "torus:4x4x4", **words)
    mine = treecast.program(job, node)
    assert mine == treecast.program("broadcast", "torus:4x4x4", node, **words)
    assert mine.rows == treecast.plan(job).at(node).rows


def test_a_program_of_a_job_on_a_graph_that_is_a_known_network():
    job = treecast.job("broadcast", nx.hypercube_graph(3), messages=300)
    for node in range(8):
        assert treecast.program(job, job.network.label(node)).rows == treecast.plan(job).at(node).rows


def test_a_repair_of_a_job_is_that_of_its_plan():
    job = treecast.job("broadcast", "torus:4x4", messages=20)
    mended = treecast.repair(job, dead_nodes=["1,1"], cut_links=["0,0-0,1"])
    assert mended.before == treecast.plan(job)
    assert mended.schedule == treecast.repair(treecast.plan(job), dead_nodes=["1,1"], cut_links=["0,0-0,1"]).schedule
    assert treecast.verify(mended.schedule).holds


@pytest.mark.parametrize(
    "words",
    [{"network": "star:4"}, {"root": 1}, {"messages": 2}, {"copies": 2}, {"survive": 0}, {"against": "links"},
     {"model": "one-port"}, {"builder": "disjoint-trees"}, {"targets": [1]}, {"targets": 1}, {"lengths": 3}, {"tree": "best"}],
)  # fmt: skip
def test_beside_a_job_stand_no_other_words(words):
    job = treecast.job("broadcast", "star:4", messages=6)
    for what in (job, treecast.plan(job)):
        for verb in (treecast.job, treecast.plan, treecast.bounds, treecast.alternatives):
            with pytest.raises(
                PlanError, match=r"^a job fixes all but the bytes: pass bytes, latency and rate alone, or write"
            ):
                verb(what, **words)
    if "network" not in words:
        with pytest.raises(PlanError, match=r"^a job fixes all but the bytes"):
            treecast.program(job, 5, **words)


@pytest.mark.parametrize(
    ("verb", "arguments", "words", "says"),
    [
        (treecast.job, ("brodcast", "star:4"), {}, "did you mean 'broadcast'?"),
        (treecast.job, ("star:4", "broadcast"), {}, "'broadcast' is no network but a collective: write it first"),
        (treecast.job, ("broadcast",), {}, "is no network"),
        (treecast.job, ("broadcast", "star:4"), {"root": "9999"}, "9999"),
        (treecast.job, ("broadcast", "star:4"), {"survives": 1}, "did you mean 'survive'?"),
        (
            treecast.bounds,
            ("broadcast", "star:4"),
            {"mesages": 1},
            "no builder has an option 'mesages'; did you mean 'messages'?",
        ),
        (treecast.job, ("broadcast", "star:4"), {"copies": 2, "survive": 2}, "2 copies survive 1 faults, not 2"),
        (treecast.job, ("broadcast", "star:4"), {"model": "one-prt"}, "did you mean 'one-port'"),
        (treecast.job, ("broadcast", "star:4"), {"latency": "1us", "rate": 1e9}, "say how many, as in bytes='16MiB'"),
        (treecast.job, ("broadcast", "star:4"), {"bytes": 1, "latency": "1us"}, "say both"),
        (treecast.plan, ("broadcast", "star:4"), {"builder": "disjoint-tree"}, "did you mean 'disjoint-trees'?"),
        (treecast.program, ("broadcast", "star:4"), {}, "is no network"),
    ],
)
def test_what_is_no_job_is_answered_in_one_line(verb, arguments, words, says):
    with pytest.raises(TreecastError, match=r"^[^\n]+$") as caught:
        verb(*arguments, **words)
    assert says in str(caught.value)


def test_only_a_plan_cuts_bytes():
    job = treecast.job("broadcast", "torus:4x4", **BYTES)
    for verb in (treecast.bounds, treecast.alternatives, lambda job: treecast.program(job, 5)):
        with pytest.raises(PlanError, match=r"is for plan\(\) to say: give messages instead of bytes$"):
            verb(job)


@pytest.mark.parametrize("verb", [treecast.plan, treecast.bounds, treecast.alternatives])
def test_the_words_are_written_once_and_known_to_each_verb(verb):
    words = signature(treecast.job).parameters
    assert signature(verb).parameters == words
    assert len(words) == 19
    said = getdoc(verb)
    assert "see ``treecast.job``" not in said
    assert all(name in said for name in words)
    assert said.count("Returns\n-------") == 1


def test_a_mapping_of_options_is_no_word():
    with pytest.raises(PlanError, match=r"^no builder has an option 'options'; there is: "):
        treecast.job("broadcast", "star:4", options={"tree": "best"})
