"""Every figure and superlative of the pages has something that fails, or a command that prints it, when it stops being true.

``CLAIMS`` lists words of a page and what holds them. A line that looks like a claim (``LOOKS_LIKE_ONE``) must have some of these
words in it, and no words may be left over that no page has.
"""

import treecast


def test_an_alltoall_on_40320_nodes():
    """1.6 billion pairs, of which the file holds node 0's part."""
    from treecast.networks import network
    from treecast.plans import plan
    from treecast.verification.verifier import verify

    nodes = network("star:8").nodes
    assert (nodes, nodes * (nodes - 1) // 10**7) == (40320, 162)
    schedule = plan("alltoall", "star:8")
    assert len(schedule) == 280_944
    assert verify(schedule).holds


def test_gossip_on_65536_nodes():
    from treecast.plans import plan
    from treecast.verification.verifier import verify

    schedule = plan("allgather", "hypercube:16", model="whispering", survive=3)
    assert schedule.network.nodes == 65536
    assert verify(schedule).holds


def reached(kind, spec, **asked):
    """The steps and transmissions of a plan, each with its lower bound."""
    from treecast.lower_bounds import best
    from treecast.plans import plan
    from treecast.verification.verifier import verify

    report = verify(plan(kind, spec, **asked))
    assert report.holds
    bounds = list(report.bounds)
    sends = (report.transmissions, best(bounds, "transmissions").value)
    return (report.steps, best(bounds, "steps").value), sends


def test_how_near_the_lower_bound_scatters_sums_and_alltoalls_are():
    from treecast.lower_bounds import tightest

    for spec in ("star:4", "hypercube:3", "complete:5"):
        degree = treecast.network(spec).degree
        for kind in ("scatter", "gather"):
            for copies in range(1, degree + 1):
                (steps, least), _ = reached(kind, spec, messages=2, copies=copies)
                assert steps == least
    overlapped = {("torus:3x4", 3), ("ring:6", 3), ("ring:6", 5)}  # the sums overlap, which saves the one step more
    for spec in ("star:4", "hypercube:4", "torus:3x4", "ring:6"):
        where = treecast.network(spec)
        for messages in range(1, 6):
            report = treecast.verify(treecast.plan("allreduce", spec, messages=messages))
            steps, least = report.steps, tightest(report.bounds, "steps").value
            whole, part = divmod(messages * (where.nodes - 1) / where.degree, 1)
            one_more = whole >= where.diameter and 0 < part <= 1 / 2 and (spec, messages) not in overlapped
            assert steps == least + one_more
    for spec in ("torus:3x3", "torus:4x4", "torus:3x3x3", "ring:5", "ring:7"):
        for messages in (1, 2, 3):
            (steps, least), _ = reached("alltoall", spec, messages=messages)
            assert steps == least
    for nodes in (4, 6, 8):
        for messages in (1, 2, 3):
            (steps, least), _ = reached("alltoall", f"ring:{nodes}", messages=messages)
            assert steps == least == -(-messages * nodes * nodes // 8)


def test_the_gaps_of_small_networks_are_as_the_page_says():
    sends = {
        model: [reached("broadcast", "hypercube:6", model=model, survive=f)[1] for f in range(1, 6)]
        for model in ("whispering", "shouting")
    }
    least = [64, 96, 128, 160, 192]
    assert sends["whispering"] == list(zip([126, 189, 252, 315, 321], least, strict=True))
    assert sends["shouting"] == list(zip([124, 152, 176, 192, 192], least, strict=True))
    assert reached("reduce", "hypercube:6", model="whispering")[0] == (6, 6)
    assert reached("allreduce", "hypercube:6", model="whispering")[0] == (12, 6)
    assert (
        max(b.value for b in treecast.bounds("allreduce", "hypercube:6", model="whispering") if b.of == "steps") == 12
    )
    for nodes in range(4, 8):
        for copies in range(2, nodes - 1):
            steps, bound = reached("alltoall", f"complete:{nodes}", copies=copies)[0]
            assert bound == 2 * copies - 1 <= steps <= 2 * copies
