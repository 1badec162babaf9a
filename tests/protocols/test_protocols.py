"""Nodes that know only their neighbours say together the sends of the schedule."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.strategies import examples
from tests.tree_cases import (
    MODELS,
    ON_PATHS,
    SHAPES,
    TOLD,
    cases,
    changed,
    network_of,
    on_path,
    random_case,
    schedules,
    with_rows,
)
from treecast import plan, verify
from treecast.errors import PlanError, ProtocolError, ScheduleError
from treecast.papers import protocols
from treecast.papers.protocols import Certificate, Flit, Order, Token, WakeUp, agrees, differences, run_protocol
from treecast.papers.protocols.synchronous import UP, Local, NodePlace, PlannedSend, converse
from treecast.schedule import Recipe

pytestmark = pytest.mark.each(2)


@examples(60)
@given(cases())
def test_so_do_those_of_a_path(case):
    for _, model, _ in ON_PATHS:
        assert agrees(on_path(case[2], model))


def test_any_tree_of_a_network_with_cycles():
    for schedule in (
        plan("gatherv", "mesh:4x4", root=5, lengths=range(16), model="bufferless"),
        plan(
            "gatherv",
            "hypercube:4",
            root=5,
            lengths=2,
            model="bufferless-multiport",
            builder="transmission-certificate",
            collect="walk",
        ),
        plan("scatterv", "star:4", root=5, lengths=2, model="bufferless-multiport", builder="farthest-first"),
    ):
        assert agrees(schedule)


def test_of_equals_any_may_go_first():
    schedule = plan("scatterv", "tree:3,2", lengths=range(13), model="bufferless", first="node")
    assert not agrees(schedule)  # the root has them farthest first
    star = plan("scatterv", network_of([0] * 5), lengths=[0, 3, 1, 4, 1, 5], model="bufferless", first="longest")
    assert agrees(star)


@examples(60)
@given(st.data())
def test_nodes_of_a_hypercube_that_know_no_time_gossip_as_planned(data):
    """All dimensions' orders, tolerances and initiators; a clock that is off by one would send over another link."""
    d = data.draw(st.integers(0, 5))
    kind = data.draw(st.sampled_from(["broadcast", "allgather", "four-phases"]))
    how = {"survive": data.draw(st.integers(0, max(0, d - 1))), "order": data.draw(st.permutations(range(d)))}
    how |= {"messages": data.draw(st.integers(1, 3)), "fault_free": data.draw(st.booleans())}
    how["builder"], node = "dimension-order", data.draw(st.integers(0, 2**d - 1))
    if kind == "four-phases":
        kind, how = "allgather", how | {"builder": "four-phases", "initiator": node}
    elif kind == "broadcast":
        how["root"] = node
    schedule = plan(kind, f"hypercube:{d}", model="whispering", **how)
    assert agrees(schedule)
    if d > 1:  # one of two rows of the second unit is gone
        short = replace(schedule, rows=schedule.rows.take([row for row in range(len(schedule.rows)) if row != 2]))
        assert not agrees(short)


def test_who_gossips_sends_nothing_over_a_link_that_has_carried_it():
    said = run_protocol(plan("allgather", "hypercube:3", model="whispering", survive=2)).sends
    over = [(min(s.src, s.dst), max(s.src, s.dst), owner) for s in said if s.step >= 3 for owner in s.content.owners]
    before = {(min(s.src, s.dst), max(s.src, s.dst), owner) for s in said if s.step < 3 for owner in s.content.owners}
    assert over
    assert not before.intersection(over)
    assert [(s.dst, sorted(s.content.owners)) for s in said if s.src == 0] == [
        (1, [0]), (2, [0, 1]), (4, [0, 1, 2, 3]), (1, [2, 3, 4, 5, 6, 7]), (2, [4, 5, 6, 7]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "spec", "how"),
    [
        ("allgather", "hypercube:3", {"model": "shouting"}),
        ("broadcast", "ring:5", {}),
        ("allgather", "torus:3x3", {"model": "whispering"}),
    ],
)
def test_others_have_no_protocol(kind, spec, how):
    with pytest.raises(PlanError, match="under whispering of dimension-order, four-phases"):
        run_protocol(plan(kind, spec, **how))


# --- what is said ---


def kinds(schedule):
    return [
        (said.step, said.src, said.dst, said.content) for said in run_protocol(schedule).sends if said.kind != "flit"
    ]


def test_wake_ups_say_how_long_the_way_is_taken():
    assert kinds(on_path([4, 0, 1])) == [(0, 0, 1, WakeUp(1)), (1, 1, 2, WakeUp(4)), (2, 2, 3, WakeUp(2))]


def test_tokens_certificates_and_orders():
    schedule = plan("gatherv", network_of([0, 0, 1, 1]), lengths=[0, 2, 0, 1, 3], model="bufferless")
    said = kinds(schedule)
    assert said[:4] == [
        (0, 0, 1, Token(2)), (1, 0, 2, Token(2)), (1, 1, 3, Token(2)), (2, 1, 4, Token(2)),
    ]  # fmt: skip
    certificates = {src: what for _, src, _, what in said if isinstance(what, Certificate)}
    assert certificates == {1: Certificate(2, 6), 2: Certificate(0, 0), 3: Certificate(0, 1), 4: Certificate(0, 3)}
    orders = {dst: what for _, _, dst, what in said if isinstance(what, Order)}
    assert set(orders) == {1, 3, 4}  # who has nothing is not told
    assert all(orders[v].delay >= certificates[v].lag for v in orders)


def test_only_the_first_flit_of_a_message_knows_its_way():
    schedule = plan("scatterv", "tree:2,2", lengths=3, model="bufferless")
    flits = [said.content for said in run_protocol(schedule).sends]
    assert all((flit.route is not None) == (flit.place == 0) for flit in flits)
    assert max(len(flit.route or ()) for flit in flits) == 1  # what is left behind the first arc


def test_a_conversation_counts():
    said = run_protocol(plan("gatherv", "path:3", lengths=[0, 2, 3], model="bufferless"))
    assert (said.flits, said.control) == (2 + 6, 6)
    assert {one.kind for one in said.sends} == {"token", "certificate", "order", "flit"}


# --- what is refused ---


def test_what_has_no_protocol():
    for schedule in (
        plan("gatherv", "path:3", lengths=1, model="bufferless", builder="nearest-first"),
        plan("broadcast", "star:3"),
        replace(plan("gatherv", "path:3", lengths=1, model="bufferless"), recipe=Recipe()),
    ):
        with pytest.raises(PlanError, match="no protocol"):
            run_protocol(schedule)
    with pytest.raises(PlanError, match="too many"):
        run_protocol(plan("scatterv", "path:3", lengths=10**7, model="bufferless"))
    bushy = replace(plan("gatherv", "tree:2,2", lengths=1, model="bufferless"), recipe=Recipe("shoulder-tap"))
    with pytest.raises(PlanError, match="needs a path"):
        run_protocol(bushy)
    cut = plan("scatterv", "path:3", lengths=[0, 0, 1], model="bufferless")
    with pytest.raises(PlanError, match="no tree"):
        run_protocol(cut.select(cut.rows.src == 1))


def test_a_schedule_that_says_something_else_is_found_out():
    schedule = plan("gatherv", "tree:2,2", lengths=2, model="bufferless")
    assert agrees(schedule)
    for r in range(len(schedule)):
        if int(schedule.rows.step[r]) > 8:
            step = schedule.rows.step.copy()
            step[r] += 1
            changed = replace(schedule, rows=replace(schedule.rows, step=step))
            missing, more = differences(changed, run_protocol(changed))
            assert missing
            assert more


def talk(think, flits=2, one_port=True, away=False):
    """A root with two children, all of which run ``think``."""
    places = [NodePlace(-1, (1, 2)), NodePlace(0, ()), NodePlace(0, ())]
    nodes = [Local(v, v == 0, 0 if v else 2, flits if v else 0, one_port) for v in range(3)]
    return converse(think, places, nodes, away)


def root_says(*plans):
    def think(local, memory, now, heard):
        return True, [
            PlannedSend(now + at, to, what) for at, to, what in plans
        ] if local.root and memory is None else ()

    return think


@pytest.mark.parametrize(
    ("think", "match"),
    [
        (root_says((0, 0, WakeUp(1)), (0, 1, WakeUp(1))), "sends 2 flits"),
        (root_says((0, 0, WakeUp(1)), (0, 0, WakeUp(2))), "two flits for one neighbour"),
        (root_says((0, 2, WakeUp(1))), "neighbour that it does not have"),
        (root_says((0, UP, WakeUp(1))), "neighbour that it does not have"),
        (root_says((0, 0, Flit(1, 0))), "must send on the flits that came"),  # nothing came that it could pass on
    ],
)
def test_what_the_machine_cannot_carry(think, match):
    with pytest.raises(ProtocolError, match=match):
        talk(think)


def test_two_children_cannot_speak_at_once():
    def think(local, memory, now, heard):
        if local.root and memory is None:
            return True, (PlannedSend(now, 0, Token(1)), PlannedSend(now + 1, 1, Token(1)))
        if any(isinstance(what, Token) for what in heard.values()):  # the first waits for the second
            return memory, (PlannedSend(now + (local.name == 1), UP, Certificate(0, 0)),)
        return memory, ()

    with pytest.raises(ProtocolError, match="node 0 is sent two"):
        talk(think)
    assert talk(think, one_port=False).control == 4


def test_a_node_that_keeps_what_it_is_to_pass_on():
    def think(local, memory, now, heard):
        return True, (PlannedSend(now, 0, Flit(2, 0)),) if local.root and memory is None else ()

    with pytest.raises(ProtocolError, match="node 1 must send on the flits"):
        talk(think, away=True)


def test_nodes_cannot_read_the_time_off_their_clocks():
    """Clocks differ; a node that took its own for that of the root would act in another step."""
    said = []

    def think(local, memory, now, heard):
        said.append((local.name, now))
        return True, (
            PlannedSend(now, 0, WakeUp(1)),
            PlannedSend(now + 1, 1, WakeUp(1)),
        ) if local.root and memory is None else ()

    talk(think)
    assert said[0] == (0, 0)
    assert all(now > 2 for name, now in said if name)


def test_public_names():
    assert treecast.agrees is protocols.agrees
    assert MODELS


# --- the command line ---


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "plan.tc"
    treecast.save(plan("gatherv", "tree:2,2", lengths=[0, 1, 2, 3, 4, 5, 6], model="bufferless"), path)
    return str(path)


def test_simulate_distributed(file, ask, answer):
    status, out, _ = ask("simulate", file, "--distributed")
    assert status == 0
    assert "the sends of the schedule, one by one" in out
    assert "6 tokens, 6 certificates, 6 orders" in out
    found = answer("simulate", file, "--distributed")
    assert (found["not_said"], found["not_planned"], found["control"], found["data"]) == (0, 0, 18, 39)


def test_simulate_distributed_that_differs(tmp_path, ask):
    path = str(tmp_path / "other.tc")
    treecast.save(plan("scatterv", "tree:2,2", lengths=range(7), model="bufferless", first="nearest"), path)
    status, out, _ = ask("simulate", path, "--distributed")
    assert status == 1
    assert "NOT the sends of the schedule" in out
    assert "not said: flit" in out
    assert "not planned: flit" in out


def test_simulate_distributed_wants_no_faults(file, ask):
    status, _, err = ask("simulate", file, "--distributed", "--dead-nodes", "1")
    assert status == 2
    assert "without faults" in err


@pytest.mark.slow
@examples(60)
@given(cases())
def test_nodes_say_what_the_schedule_has(case):
    for schedule in schedules(case, TOLD):
        assert agrees(schedule)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("length", [0, 1, 5])
def test_shapes(shape, length):
    parents = SHAPES[shape]
    for root in {0, len(parents), len(parents) // 2}:
        for schedule in schedules((parents, root, [length] * (len(parents) + 1)), TOLD):
            said = run_protocol(schedule)
            assert not any(differences(schedule, said))
            assert (said.steps, said.flits + said.control) == (schedule.steps, schedule.transmissions)


@pytest.mark.slow
def test_nor_do_nodes_say_any_other_schedule_that_is_right():
    """Rules leave freedom, in when to certify for instance; a protocol has none."""
    for schedule in (
        plan("gatherv", network_of([0, 0, 1, 1]), lengths=[0, 1, 0, 2, 2], model="bufferless", collect="walk"),
        plan("gatherv", network_of([0, 0, 1, 1]), lengths=[0, 0, 1, 2, 2], model="bufferless-multiport"),
        on_path([2, 0, 3]),
    ):
        others = 0
        for _, rows in changed(schedule):
            try:
                other = with_rows(replace(schedule, claims=None), rows)
            except ScheduleError:
                continue
            if other.rows != schedule.rows and verify(other):
                assert not agrees(other)
                others += 1
        assert others


@pytest.mark.long
def test_many_trees():
    rng = np.random.default_rng(8)
    for _ in range(1_000):
        assert all(agrees(schedule) for schedule in schedules(random_case(rng), TOLD))
