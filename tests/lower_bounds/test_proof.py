"""Proofs in files: they are checked in whole numbers, and one that was altered is refused."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lower_bounds.test_prices import priced_arcs
from tests.networks.test_relays import multigraphs
from tests.oracles.prices import cheapest_steiner, cheapest_tree
from tests.strategies import examples
from treecast import bounds, job, plan, verify
from treecast.errors import FormatError
from treecast.files import formats
from treecast.files.formats.native import digest_of
from treecast.lower_bounds.proof import _cuts, carried, of_bounds, proven

JOB = ("alltoall", "mesh:4x4")
KINDS = ("broadcast", "reduce", "scatter", "gather", "allgather", "reduce-scatter", "reduce-broadcast", "allreduce")
MACHINES = ("all-port", "all-port,half", "one-port", "one-port,half")


@given(priced_arcs())
def test_cuts_say_what_a_cheapest_tree_costs(case):
    nodes, arcs, wanted = case
    assert _cuts(0, arcs, range(nodes)) == cheapest_tree(0, arcs, set(range(nodes)))
    least, said = cheapest_steiner(0, arcs, range(nodes), wanted), _cuts(0, arcs, wanted)
    assert (said is None) == (least == float("inf"))
    assert said is None or said <= least


def are_proven(where, machine):
    for kind in ("broadcast", "reduce", "scatter", "gather", "allgather", "reduce-scatter", "alltoall", "allreduce"):
        each = job(kind, where, model=machine, messages=5)
        for bound in bounds(kind, where, model=machine, messages=5):
            if bound.of == "steps" and bound.certificate:
                assert proven(bound.certificate, each.collective, each.network, 1, each.model) >= bound.value, bound


@given(multigraphs(most=6, whole=True), st.sampled_from(KINDS), st.sampled_from(MACHINES), st.data())
@examples(150)
def test_no_prices_prove_more_than_a_plan_takes(graph, kind, machine, data):
    schedule = plan(kind, graph, model=machine, messages=data.draw(st.integers(1, 4)))
    one = st.lists(st.integers(0, 2), min_size=schedule.network.arcs, max_size=schedule.network.arcs)
    steps = data.draw(st.sampled_from([1, schedule.steps]))
    prices = [price for _ in range(steps) for price in data.draw(one)]
    found = proven(prices, schedule.collective, schedule.network, 1, schedule.model)
    assert found is None or found <= schedule.steps


@pytest.mark.parametrize(
    ("words", "value", "prices"),
    [
        (("allgather", "path:9", "one-port", 1), 13, 16 * 12),  # of each arc in each step
        (("broadcast", "fat-tree:4", "one-port", 5), 15, 96),  # the first steps sell less
        (("allreduce", "dragonfly:4,2", "all-port", 4), 56, 180),  # arcs between parts
    ],
    ids=["windows", "from the root", "parts"],
)
def test_bounds_by_steps_and_by_parts_go_into_files(words, value, prices):
    kind, where, machine, messages = words
    schedule = plan(kind, where, model=machine, messages=messages)
    assert max(bound.value for bound in verify(schedule).bounds if bound.of == "steps") == value
    found = formats.decode(formats.encode(schedule))
    assert carried(found).steps == value
    assert len(carried(found).prices) == prices
    assert verify(found)
    text = formats.encode(schedule).decode().replace(f"proof steps={value}", f"proof steps={value + 1}")
    other = "\n".join(line for line in text.splitlines() if not line.startswith("digest ")) + "\n"
    assert not verify(formats.decode(other.encode()))


@pytest.mark.parametrize(
    ("where", "machine"), [*(("mesh:3x3", machine) for machine in MACHINES), ("tree:2,2", "one-port")]
)
def test_bounds_by_prices_are_proven_by_other_algorithms(where, machine):
    are_proven(where, machine)


@pytest.fixture(scope="module")
def judged():
    schedule = plan(*JOB, model="one-port")
    assert "proof" not in formats.encode(schedule).decode()  # nobody has asked for its report
    before = digest_of(schedule)
    assert verify(schedule)
    assert digest_of(schedule) == before
    return schedule


@pytest.mark.parametrize("to", ["text", "binary"])
def test_a_file_carries_the_proof_of_its_report(judged, to):
    found = formats.decode(data := formats.encode(judged, to))
    proof = carried(found)
    assert found == judged
    assert proof == of_bounds(verify(judged).bounds, judged.collective, judged.network, 1, judged.model)
    assert proof.steps == 43
    assert formats.encode(found, to) == data
    report = verify(found)
    assert report
    assert [bound.value for bound in report.bounds if "in the file" in bound.formula] == [43]


@pytest.mark.parametrize(
    ("alter", "why"),
    [
        (lambda words: words.replace("steps=43", "steps=44"), "its prices prove 43 and no more"),
        (lambda words: words[: words.rindex(",")], "it has 47 prices, and mesh:4x4 has 48 arcs"),
        (lambda words: words.split("=")[0] + "=43 prices=" + ",".join("1" * 48), "its prices prove 40 and no more"),
        (lambda words: words.split("=")[0] + "=43 prices=" + ",".join("0" * 48), "prices prove nothing of this job"),
    ],
)
@pytest.mark.parametrize("method", ["fast", "expanded"])
def test_an_altered_proof_is_refused(judged, tmp_path, alter, why, method):
    lines = formats.encode(judged).decode().splitlines()
    text = [alter(line) if line.startswith("proof ") else line for line in lines if not line.startswith("digest ")]
    report = verify(found := formats.decode("\n".join([*text, ""]).encode()), method=method)
    assert carried(found)
    assert report.counts["claims"] == 1
    assert sum(report.counts.values()) == 1
    assert report.violations[0].text.endswith(why)
    assert not any("in the file" in bound.formula for bound in report.bounds)
    (tmp_path / "plan.tc").write_text("\n".join([*text, ""]))
    with pytest.raises(FormatError, match="no schedule takes fewer than"):
        formats.load(tmp_path / "plan.tc")


@pytest.mark.parametrize("words", ["steps=43", "steps=43 prices=", "steps=43 prices=1,-1", "steps=43 prices=1,,2"])
def test_what_is_no_proof_is_no_file(judged, words):
    lines = formats.encode(judged).decode().splitlines()
    text = [f"proof {words}" if line.startswith("proof ") else line for line in lines if not line.startswith("digest ")]
    with pytest.raises(FormatError, match="a proof is written"):
        formats.decode("\n".join([*text, ""]).encode())


def test_prices_of_one_step_alone_are_no_proof():
    """They would be read as prices of all steps, and those prove less."""
    each = job([(2, 1, 2)], "ring:4")
    for copies, steps, prices in ((1, 2, 0), (2, 3, 16)):
        (found,) = (one for one in bounds([(2, 1, 2)], "ring:4", copies=copies) if one.source == "prices of steps")
        assert (found.value, len(found.certificate)) == (steps, prices)
        if prices:
            assert proven(found.certificate, each.collective, each.network, copies, each.model) == steps


# What a report proves: its prices, by algorithms that did not find them.


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("where", ["tree:2,2", nx.lollipop_graph(4, 3)], ids=["tree", "lollipop"])
def test_bounds_by_prices_are_proven_by_other_algorithms_at_length(where, machine):
    are_proven(where, machine)
