"""``treecast compare``: networks side by side."""

import csv
import json
from fractions import Fraction

import networkx as nx
import pytest

from tests.oracles.plain import graph_of
from treecast.errors import PlanError
from treecast.lower_bounds import best
from treecast.networks import network
from treecast.papers import compare as comparison
from treecast.papers.tables import tables
from treecast.plans import plan
from treecast.plans.timing import time_plan
from treecast.verification.verifier import verify


@pytest.fixture
def ask(ask):
    """Compare, and return the exit status, the standard output and the standard error."""
    return lambda *arguments: ask("compare", *arguments)


def test_figures_are_those_of_the_graph(answer):
    specs = ["star:4", "hypercube:5", "torus:3x4", "mesh:2x3", "tree:2,2"]
    found = answer(*specs, "--collective", "broadcast")["networks"]
    assert [figures["network"] for figures in found] == specs
    for figures in found:
        graph = graph_of(network(figures["network"]))
        lengths = [d for _, row in nx.all_pairs_shortest_path_length(graph) for d in row.values()]
        degree = max(d for _, d in graph.out_degree)
        assert figures["mean_distance"] == pytest.approx(sum(lengths) / len(graph) ** 2)
        assert (figures["nodes"], figures["arcs"]) == (len(graph), graph.number_of_edges())
        assert figures["cost"] == degree * max(lengths) == figures["degree"] * figures["diameter"]


@pytest.mark.parametrize("n", [*range(2, 7), 15, *(pytest.param(n, marks=pytest.mark.long) for n in range(7, 15))])
def test_mean_distance_of_the_star_network_is_that_of_the_paper(n):
    harmonic = sum(Fraction(1, k) for k in range(1, n + 1))
    found = comparison.figures_of(network(f"star:{n}")).mean_distance
    assert found == pytest.approx(float(n + Fraction(2, n) + harmonic - 4))


@pytest.mark.parametrize("kind", ["broadcast", "allgather", "scatter", "alltoall", "allreduce"])
def test_what_is_shown_was_planned_and_verified(answer, kind):
    copies = 1 if kind == "allreduce" else 2
    found = answer("star:4", "hypercube:4", "--collective", kind, "--messages", "5", "--copies", f"{copies}")
    for entry in found["collectives"]:
        report = verify(plan(kind, entry["network"], messages=5, copies=copies))
        assert (entry["steps"], entry["transmissions"], entry["verified"]) == (report.steps, report.transmissions, True)
        assert entry["steps_lower_bound"] == best(list(report.bounds), "steps").value
        assert entry["ratio"] == round(report.steps / entry["steps_lower_bound"], 4) >= 1
        assert entry["transmissions_ratio"] >= 1
        assert entry["note"] == ""


def test_without_a_collective_the_problems_of_the_paper(answer):
    asked = answer("star:4", "hypercube:5", "--survive", "1")["collectives"]
    problems = [("broadcast", 1), ("broadcast", 2), ("allgather", 2), ("scatter", 2), ("alltoall", 2)]
    assert [(e["collective"], e["copies"]) for e in asked[::2]] == problems
    assert [e["network"] for e in asked] == ["star:4", "hypercube:5"] * 5
    assert len(answer("star:4", "hypercube:5")["collectives"]) == 8
    orders = {e["network"]: (e["steps_order"], e["transmissions_order"]) for e in asked[6:8]}
    assert orders == {"star:4": ("O(MxN/n)", "O(MxN·n)"), "hypercube:5": ("O(MxN/k)", "O(MxN·k)")}
    assert all(e["steps_order"] == "" for e in answer("torus:3x3", "ring:5")["collectives"])


def test_the_tables_of_the_paper(answer):
    one, two, three = answer("star:5", "hypercube:7", "--tables", "--messages", "8", "--copies", "2")
    assert [table["title"].partition(":")[0] for table in (one, two, three)] == ["Table 1", "Table 2", "Table 3"]
    assert [(line["steps"], line["transmissions"]) for line in one["lines"]] == [
        (2 + 5, 8 * 119), (8 + 5, 32 * 119), (8 * 119, 32 * 120 * 119), (8 * 119, 32 * 442), (8 * 442, 32 * 120 * 442),
    ]  # fmt: skip
    assert [line["steps"] for line in two["lines"]] == [2 + 5, 4 + 5, 4 * 119, 4 * 119, 4 * 442]
    assert [line["transmissions"] for line in three["lines"]] == [
        8 * 127, 16 * 127, 16 * 128 * 127, 16 * 448, 16 * 128 * 448,
    ]  # fmt: skip
    assert "t = N (n + 2/n + H_n - 4) = 442" in one["letters"]


@pytest.mark.parametrize("spec", ["star:3", "star:5", "hypercube:1", "hypercube:4", "star:15", "hypercube:40"])
def test_the_tables_of_the_paper_are_lower_bounds_too(spec):
    """With one copy they are the best that is known here, but where few messages have far to go."""
    where = network(spec)
    for table in tables(where, 1000, 1)[-1:]:
        for line, kind in zip(table.lines, ("broadcast", "broadcast", "allgather", "scatter", "alltoall"), strict=True):
            if where.nodes < 1000:
                (entry, _) = comparison.compare([where, where], collective=kind, messages=1000).entries
                assert (line.steps, line.transmissions) == (entry.steps_lower_bound, entry.transmissions_lower_bound)
    for table in tables(where, 3, where.ports):
        assert table.lines[1].steps <= 3 + where.diameter
        assert all(line.steps > 0 and line.transmissions > 0 for line in table.lines)


def test_networks_that_are_too_large_show_bounds_only(ask, answer):
    found = answer("star:12", "hypercube:29")["collectives"]
    assert all(e["steps"] is e["verified"] is e["ratio"] is None and "too many to plan" in e["note"] for e in found)
    assert found[0]["steps_lower_bound"] == 16
    found = answer("star:15", "mesh:2x2", "--collective", "alltoall")["collectives"]
    assert "too many chunks" in found[0]["note"]
    assert found[0]["steps_lower_bound"] is None
    assert (found[1]["steps_lower_bound"], found[1]["steps"], found[1]["verified"]) == (2, 2, True)
    _, out, _ = ask("star:12", "hypercube:29")
    assert "star:12: about 479,001,599 rows, too many to plan: lower bounds only" in out
    assert "O(MN/k)" in out


def test_lines_that_people_read(ask):
    status, out, err = ask("star:5", "hypercube:7", "--survive", "1")
    assert (status, err) == (0, "")
    assert "cost: degree x diameter" in out
    assert max(map(len, out.splitlines())) <= 85
    line = next(line for line in out[out.index("scatter, 2 copies") :].splitlines() if line.startswith("star:5"))
    assert line.split() == ["star:5", "60", "60", "1.000", "1,020", "1,020", "1.000"]
    status, out, err = ask("star:5", "--tables")
    assert (status, err) == (0, "")
    assert "⌈Mx(N-1)/(n-1)⌉" in out


def test_a_wrong_schedule_is_no_figure(monkeypatch, ask):
    monkeypatch.setattr(comparison, "plan", lambda kind, where, **options: plan(kind, where)[:2])
    status, out, _ = ask("star:4", "hypercube:3", "--collective", "broadcast")
    assert status == 1
    assert "the schedule is wrong" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("star:4",), "two networks or more"),
        ((), "two networks or more"),
        (("allreduce",), "two networks or more"),
        (("ring:4", "allreduce", "allgather"), "one collective is compared at a time"),
        (("ring:4", "ring:5", "--rate", "1GB/s"), "networks are compared by one cost: --bytes 16MiB --latency 1us"),
        (("ring:4", "ring:5", "--bytes", "1MB"), "how long do sends take? say --latency 1us, --rate 12.5GB/s"),
        (("star:4", "nowhere:3"), "is no network"),
        (("star:4", "hypercube:3", "--copies", "4"), "broadcast on star:4 cannot have 4 copies: 3 disjoint trees"),
        (("star:4", "path:3", "--survive", "1"), "2 copies need 2 disjoint paths, but 1 arcs leave the root"),
        (("star:4", "hypercube:3", "--copies", "0"), "at least one copy"),
        (("star:4", "hypercube:3", "--collective", "dance"), "'dance' is no collective"),
        (("star:4", "hypercube:3", "--messages", "0"), "0 messages"),
        (("star:4", "--tables", "--collective", "broadcast"), "no --collective"),
        (("--tables",), "one star network or hypercube"),
        (("torus:3x3", "--tables"), "not of torus:3x3"),
        (("star:4", "--tables", "--copies", "4"), "3 disjoint trees"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared(ask, arguments, says):
    status, out, err = ask(*arguments)
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_two_networks_are_needed_in_python_too():
    with pytest.raises(PlanError, match="two networks"):
        comparison.compare([network("star:3")])


def test_with_bytes_the_times_are_those_of_plans(answer):
    costs = {"latency": "1us", "rate": "10GB/s"}
    words = [word for name, value in costs.items() for word in (f"--{name}", value)]
    for more in (["allreduce"], ["--collective", "all-reduce"]):
        found = answer("ring:4", *more, "hypercube:3", "--bytes", "1MB", *words)["collectives"]
        for entry in found:
            timing = time_plan(plan("allreduce", entry["network"], bytes="1MB", **costs))
            assert (entry["bytes"], entry["time"]) == (1_000_000, timing.by_steps)
            assert entry["time_lower_bound"] == timing.bound.seconds <= entry["time"]


def test_the_figures_go_into_a_file(ask, tmp_path):
    job = ("broadcast", "ring:4", "hypercube:3")
    for name in ("a.csv", "a.json", "a.svg"):
        assert ask(*job, "-o", str(tmp_path / name))[0] == 0
    with open(tmp_path / "a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    whole = json.loads((tmp_path / "a.json").read_text())
    assert whole == json.loads(ask(*job, "--json")[1])
    assert [{name: str(value) for name, value in one.items() if value is not None} for one in whole["collectives"]] == [
        {name: value for name, value in row.items() if value or one[name] == ""}
        for row, one in zip(rows, whole["collectives"], strict=True)
    ]
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()


def test_equal_graphs_are_called_equal(ask, answer):
    """And by networkx; unlike ones of the same figures are not."""
    specs = [
        "torus:4x4",
        "hypercube:4",
        "hyperx:4x4",
        "circulant:16,1,4",
        "ring:16",
        "torus:4x2x2",
        "mesh:1x16",
        "path:16",
    ]
    found = {each["network"]: each["same_as"] for each in answer(*specs, "--collective", "broadcast")["networks"]}
    graphs = {spec: nx.Graph(graph_of(network(spec))) for spec in specs}
    for place, spec in enumerate(specs):
        same = [other for other in specs[:place] if nx.is_isomorphic(graphs[spec], graphs[other])]
        assert found[spec] == (same[0] if same else "")
    assert "hypercube:4 is the same graph as torus:4x4" in ask(*specs[:2], "--collective", "broadcast")[1]
    status, out, _ = ask("torus:4x4", "hyperx:4x4", "--collective", "broadcast")
    assert (status, "same graph" in out) == (0, False)


@pytest.mark.slow
def test_orders_of_growth_are_those_of_the_figures():
    """Measured figures over what stands in O( ) stay between constants as the networks grow."""
    for family, sizes in (("star", range(4, 7)), ("hypercube", range(4, 9))):
        for kind in comparison.PROBLEMS:
            quotients = []
            for size, entry in zip(
                sizes,
                comparison.compare([network(f"{family}:{s}") for s in sizes], collective=kind, messages=12).entries,
                strict=True,
            ):
                terms = {"n": size, "k": size, "N": network(entry.network).nodes, "M": 12}
                quotients.append(
                    (
                        entry.steps / value(entry.steps_order, terms),
                        entry.transmissions / value(entry.transmissions_order, terms),
                    )
                )
            for column in zip(*quotients, strict=True):
                assert 0.3 < min(column) <= max(column) < 2.5, (family, kind, column)


def value(order, terms):
    inside = order[2:-1].replace("²", "^").replace("·", "")
    total = 0
    for term in inside.split(" + "):
        product, _, below = term.partition("/")
        number = 1.0
        for at, letter in enumerate(product):
            number *= terms[product[at - 1]] if letter == "^" else terms[letter]
        total += number / (terms[below] if below else 1)
    return total
