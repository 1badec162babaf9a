"""Unlike costs beside all else: symmetries, relays that do not add, machines on which messages combine, latency, repairs."""

from dataclasses import replace

import networkx as nx
import pytest

import treecast
from treecast import Model, plan, repair, verify
from treecast.cli import main
from treecast.errors import TreecastError
from treecast.models import Cost
from treecast.plans.timing import time_plan
from treecast.schedule.costs import Costs, seconds_by_events
from treecast.schedule.sizes import Sizes
from treecast.testing import check_plan

USUAL = {"bytes": 1000, "latency": "1us", "rate": "1GB/s"}


@pytest.fixture
def mixed():
    """A graph of three ranks, two of which are joined straight, and two switches that join all."""
    graph = nx.Graph([("a", "b"), ("a", "s"), ("b", "s"), ("a", "t"), ("b", "t"), ("c", "s"), ("c", "t")])
    nx.set_node_attributes(graph, {"s": True, "t": True}, "relay")
    return graph


def test_an_orbit_is_for_arcs_that_take_alike():
    orbit = plan("allgather", "hypercube:3", messages=2)
    slow = replace(orbit.model, arcs=[(7, 6, 7, 7)])
    assert not verify(orbit, slow).holds
    assert not verify(orbit, slow, method="expanded").holds
    with pytest.raises(TreecastError, match="arcs that take alike"):
        replace(orbit, model=slow)


def test_sums_that_nobody_owns_are_no_slower_than_their_bound():
    far = Costs(Cost(1e-6, 1e-9), dict.fromkeys([(0, 1), (1, 0)], Cost(1e-4, 1e-9)))
    schedule = plan("allreduce", "complete:2", without_owners=True, messages=1)
    timing = time_plan(replace(schedule, sizes=Sizes(1000, 1000), costs=far))
    assert schedule.collective.shared
    assert timing.bound.seconds <= timing.by_steps == pytest.approx(102e-6)


def test_sums_past_relays_at_unlike_costs(mixed):
    schedule = plan("allreduce", mixed, costs={("a", "b"): ("5us", "0.3GB/s")}, **USUAL)
    check_plan(schedule)
    assert treecast.job(schedule, costs=schedule.costs, **USUAL).costs == schedule.costs
    with pytest.raises(TreecastError, match="plan again without what is gone"):
        repair(schedule, cut_links=["a-b"])
    with pytest.raises(TreecastError, match="says the arcs of relays"):
        plan("reduce", mixed, model=Model("mine", arcs=[(0, 1, 9, 9)]))


@pytest.mark.parametrize("costs", [[("a", "s")], {"as": ("1us", "1GB/s")}, 5, {("a", "s"): "1us"}])
def test_costs_that_are_none_are_refused_in_one_line(mixed, costs):
    with pytest.raises(TreecastError, match=r"^write costs as "):
        plan("allreduce", mixed, costs=costs, **USUAL)


def test_a_late_machine_is_late_at_unlike_costs_too():
    schedule = plan("broadcast", "path:4", model="all-port,latency=3", costs={(0, 1): ("1us", "0.5GB/s")}, **USUAL)
    machine, tick = schedule.costs.on(
        treecast.models.model("all-port,latency=3"), schedule.network, schedule.sizes.chunk
    )
    assert machine.arcs == schedule.model.arcs
    assert seconds_by_events(schedule, schedule.costs) <= schedule.steps * tick * (1 + 1e-9)


@pytest.mark.parametrize("model", ["whispering", "shouting", "one-port,partner,combining"])
def test_where_messages_combine_costs_only_price_a_plan(model):
    schedule = plan("allgather", "hypercube:2", model=model, costs={(0, 1): ("9us", "1GB/s")}, **USUAL)
    assert not schedule.model.arcs
    assert schedule.costs.unlike


def test_the_other_figure_is_that_of_relays_that_add(mixed, tmp_path, capsys):
    nx.write_graphml(mixed, tmp_path / "net.graphml")
    (tmp_path / "c.csv").write_text("source,target,latency,rate\na,b,5us,0.3GB/s\n")
    costs = ["--costs", str(tmp_path / "c.csv")]
    words = [str(tmp_path / "net.graphml"), "--bytes", "64KiB", "--latency", "1us", "--rate", "1GB/s", *costs]
    assert main(["plan", "reduce", *words]) == 0
    (said,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("network")]
    assert main(["plan", "reduce", *words, "--relays-add"]) == 0
    (takes,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("takes")]
    assert said.rstrip(")").split("then ")[1] == takes.split("  ")[-1].strip().split(",")[0]
