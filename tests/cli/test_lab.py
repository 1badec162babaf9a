"""``treecast lab``: what it asks to be built and run, and what it refuses. tests/lab builds labs."""

import pytest

from treecast.running.lab import outside


def test_the_lab_that_is_asked_for_is_built(ask, monkeypatch):
    built = []

    def run_in_lab(plan, command, how, **more):
        built.append((plan, command, how, more))
        return outside.LabOutcome(7, 0.1)

    monkeypatch.setattr(outside, "run_in_lab", run_in_lab)
    words = ["--rate", "10Mbit/s", "--cut-links", "000-001@2.5", "--mpirun", "--mca a 'b c'", "--timeout", "60"]
    assert ask("lab", "run", "hypercube:3", *words, "--", "python", "-c", "1") == (7, "", "")
    ((plan, command, how, more),) = built
    assert (plan.network.spec, plan.rate, plan.switched, len(plan.links)) == ("hypercube:3", 10**7, False, 12)
    assert (command, how) == (("python", "-c", "1"), "mpi")
    assert (more["options"], more["timeout"], len(more["cuts"])) == (["--mca", "a", "b c"], 60.0, 1)
    for word in ("--no-mpi", "--once"):
        assert ask("lab", "run", "complete:3", "--switch", word, "--", "true")[0] == 7
    assert [(plan.switched, how) for plan, _, how, _ in built[1:]] == [(True, "hosts"), (True, "once")]


def test_without_a_verb_of_its_own_it_says_which_there_are(ask):
    status, out, err = ask("lab")
    assert (status, err) == (0, "")
    assert "run " in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("ran path:2", "there is no verb 'ran': 'treecast lab --help' shows the usage"),
        ("run", "NETWORK is missing: 'treecast lab run --help' shows the usage"),
        ("run path:2", "there is nothing to run: write the command behind --"),
        (
            "run path:2 --dead-nodes 1",
            "lab run has no option --dead-nodes: 'treecast lab run --help' shows the usage",
        ),
        ("run strar:3 -- true", "'strar:3' is no network: write star:N, as in star:5; did you mean 'star:3'?"),
        ("run path:1 -- true", "the number of nodes of path:1 is 1: a lab has from 2 to 64 hosts"),
        ("run star:5 -- true", "the number of nodes of star:5 is 120: a lab has from 2 to 64 hosts"),
        ("run path:2 --rate fast -- true", "'fast' is no rate: write 12.5GB/s or 100Gbit/s"),
        ("run path:2 --rate 1Tbit/s -- true", "a link of a lab carries 100kbit/s to 100Gbit/s"),
        ("run path:2 --cut-links 0-1 -- true", "'0-1' names no cut: write A-B@SECONDS, as in 0-1@2.5"),
        ("run path:2 --cut-links 0-2@1 -- true", "'0-2' names no link: write A-B (both ways)"),
        (
            "run path:2 --switch --cut-links 0-1@1 -- true",
            "--cut-links takes down links between hosts, and behind a --switch",
        ),
        ("run path:2 --once --no-mpi -- true", "--no-mpi runs COMMAND on every host, --once on none: choose one"),
        ("run path:2 --timeout 0 -- true", "0 seconds will not do as a time limit"),
        ("run path:2 --timeout long -- true", "--timeout long will not do: write a number"),
        ("run path:2 --mpirun ' -- true", '--mpirun "\'" cannot be split into words: No closing quotation'),
    ],
)
def test_what_cannot_be_built_is_one_line(ask, words, says):
    status, out, err = ask("lab", *words.split())
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {says}")
    assert err.count("\n") == 1
