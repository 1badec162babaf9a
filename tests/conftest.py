"""Settings that all tests share."""

import gc
import json
import os
import signal
import sys

import pytest
from hypothesis import HealthCheck, settings

from treecast.cli import main
from treecast.kernels import compiled

# a shell without job control has its background jobs ignore Ctrl-C, and so would the programs that tests start
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# tests start hundreds of processes, each of which would compile all of treecast if nobody kept its bytecode
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# compiled functions compile on their first call, which no deadline should count
settings.register_profile("treecast", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("treecast")


FEWER = 0.25  # of the examples of hypothesis are tried by the quick tests; `make test-long` tries all

FIRST = (
    "kernels/test_interpreted",
    "plans/bufferless/test_cover",
    "plans/wormhole",
    "verification",
    "simulation",
    "drawing",
)
# of tests with many parameters, quick runs do the first and each k-th after it, and long runs the others
EACH = {
    "plans/test_one_way.py::test_every_root": 4,
    "plans/test_carried.py::test_they_take_as_many_steps_and_are_right": 3,
    "plans/all_port/test_collectives.py::test_every_plan_is_right_by_every_judge": 4,
    "plans/all_port/test_collectives.py::test_an_orbit_written_out_is_every_send_of_every_source": 4,
    "plans/bufferless/test_tree_plans.py::test_the_verifier_says_what_the_simulator_says": 3,
    "plans/bufferless/test_cover.py::test_near_the_bound_on_meshes_tori_and_hypercubes": 3,
    "plans/wormhole/test_exhaustive.py::test_no_bound_is_above_the_least_of_all_broadcasts_and_the_search_is_that": 3,
    "verification/test_wormhole.py::test_what_is_planned_holds_without_contention": 3,
    "verification/test_wormhole.py::test_routes_are_shortest_walks_that_take_the_axes_in_their_order": 3,
    "verification/test_rules.py::test_any_change_of_one_row_of_any_kind_is_judged_right": 6,
    "formats/test_too_large.py::test_files_too_large_to_judge": 8,
    "lower_bounds/test_every_plan.py::test_no_plan_beats_its_bounds": 4,
    "plans/bufferless/test_tree_plans.py::test_shapes": 3,
    "plans/bufferless/test_cover.py::test_every_family_from_every_root": 3,
    "plans/all_port/test_collectives.py::test_ratios_to_the_lower_bound": 4,
    "plans/wormhole/test_exhaustive.py::test_the_builder_finds_the_least_without_contention_on_meshes_and_tori": 3,
    "plans/combining/test_dimension_order.py": 2,
    "verification/test_verifier.py::test_any_change_of_one_row_is_rejected_or_does_no_harm": 2,
    "formats/test_goal.py::test_every_byte_is_delivered_in_the_steps_of_the_schedule": 3,
    "plans/test_one_way.py::test_no_schedule_beats_the_bound": 3,
    "plans/trees/test_spanning.py::test_the_best_tree_never_loses": 3,
    "plans/wormhole/test_bisection.py": 3,
    "plans/all_port/test_disjoint_ways.py": 2,
    "plans/all_port/test_scatter_by_number.py": 2,
    "papers/test_trees.py": 3,
    "papers/test_mesh.py::test_every_statement_of_the_mesh_paper_is_as_it_is_known": 3,
    "protocols/test_protocols.py": 2,
    "simulation/test_bit_replay.py": 2,
    "simulation/test_replay.py": 2,
    "verification/test_rules.py::test_changes_of_one_row_on_a_larger_star": 3,
    "formats/test_round_trip.py::test_every_changed_byte_is_noticed": 2,
    "drawing/test_mesh_figure.py": 2,
    "drawing/test_hypercube_figures.py": 2,
    "mpi/test_comm.py::test_what_is_wrong_on_one_rank_is_said_there_and_the_next_call_is_right": 2,
    "mpi/test_comm.py::test_calls_leave_the_bytes_and_raise_the_errors_that_mpis_do": 2,
    "cli/test_cli.py::test_odd_streams": 3,
    "cli/test_cli.py::test_help_imports_nothing_heavy": 3,
    "lab/test_lab.py::test_nothing_is_left_when_the_launcher_ends": 6,
    "drawing/test_figures.py::test_files_are_whole_and_repeatable": 3,
    "formats/test_chakra.py::test_every_byte_is_delivered_in_the_steps_of_the_schedule": 3,
    "drawing/test_registry.py::test_axes_as_large_as_the_figure_show_the_figure": 4,
    "drawing/test_registry.py::test_small_axes_show_it_small": 4,
    "drawing/test_registry.py::test_every_plan_has_a_picture_without_asking_for_its_kind": 3,
    "simulation/test_sparing.py::test_every_single_fault_at_every_step": 3,
    "simulation/test_sparing.py::test_every_pair_of_faults_each_at_every_step": 2,
    "simulation/test_sparing.py::test_a_hundred_thousand_sets_in_six_dimensions": 4,
    "execution/test_election.py": 3,
    "execution/test_local.py::test_any_size_of_file_for_every_collective": 2,
    "plans/all_port/test_balanced_trees.py::test_the_figures_of_the_page": 4,
    "plans/all_port/test_independent_trees.py::test_every_single_fault_is_survived": 3,
    "plans/all_port/test_broadcast.py::test_a_node_knows_its_program_from_its_label": 2,
    "plans/all_port/test_priced_paths.py::test_steps_are_nearly_those_of_the_bound": 2,
    "plans/all_port/test_targets.py::test_steps_of_one_message": 3,
    "plans/all_port/test_targets.py::test_trees_depth_and_steps": 3,
    "plans/test_patching.py::test_patches_are_right_and_keep_rows": 2,
    "plans/test_repairs.py::test_repaired_schedules_are_right": 3,
    "plans/test_survive_anywhere.py::test_every_collective_that_can_have_copies": 2,
    "plans/wormhole/test_eyes.py": 3,
    "plans/wormhole/test_local_search.py::test_whatever_is_tried_it_stays_a_broadcast": 3,
    "plans/wormhole/test_local_search.py::test_shorter_than_by_recursion": 2,
    "plans/wormhole/test_symmetry.py::test_all_sources_of_small_meshes": 3,
    "networks/test_interconnects.py::test_collectives_of_one_root_on_each": 3,
    "networks/test_words.py::test_with_arcs_reversed": 3,
    "formats/test_golden.py::test_a_changed_row_is_noticed": 3,
    "formats/test_golden.py::test_the_digest_depends_on_every_column_of_every_row": 3,
    "formats/test_msccl.py::test_an_altered_attribute_is_refused_or_does_no_harm": 2,
    "formats/test_msccl.py::test_every_byte_is_delivered_and_the_judge_agrees": 3,
    "formats/test_mscclpp.py::test_every_byte_is_delivered_or_the_limit_is_named": 3,
    "formats/test_chrome.py::test_timelines_deliver_every_byte": 3,
    "formats/test_simgrid.py::test_traces_deliver_every_byte": 3,
    "formats/test_operations.py::test_what_is_written_is_read_again_and_holds": 3,
    "formats/test_table.py::test_messages_are_read_again_and_verified": 3,
    "lower_bounds/test_lower_bounds.py::test_copies_take_as_many_arcs_as_disjoint_ways_have": 2,
    "simulation/test_sparing.py::test_every_set_of_as_many_faults_as_it_survives": 2,
    "simulation/test_sweep.py::test_every_set_of_fewer_faults_than_copies_does_no_harm": 2,
    "verification/test_wormhole.py::test_recursion_by_boxes_has_no_depth_contention": 2,
    "drawing/test_figures.py::test_texts_have_room": 2,
    "drawing/test_parallelograms.py::test_texts_have_room": 3,
    "drawing/test_parallelograms.py::test_lines_of_text_are_what_links_carry": 3,
    "cli/test_slips.py::test_a_reader_that_leaves_early_changes_no_verdict": 2,
    "cli/test_hypercube.py::test_pictures": 2,
}
# what starts many processes or much memory, and has a smaller test beside it that quick runs do
LONG = (
    "lab/test_lab.py::test_a_plan_with_two_copies_gets_past_a_link_that_is_cut",
    "mpi/test_runs.py::test_collectives_on_the_cube_one_after_the_other",
    "mpi/test_runs.py::test_messages_of_different_lengths",
    "mpi/test_runs.py::test_other_networks",
    "mpi/test_runs.py::test_every_collective_agrees_with_mpi",
    "mpi/test_runs.py::test_the_benchmark_measures_every_algorithm",
    "mpi/test_runs.py::test_a_run_joins_an_mpirun_that_is_there",
    "mpi/test_runs.py::test_a_rank_that_cannot_read_the_input_stops_all_with_one_line",
    "mpi/test_endings.py::test_a_lost_root_is_said",
    "kernels/test_compiled.py::test_a_cache_cut_short",
    "kernels/test_compiled.py::test_a_terminal_is_told_once_what_takes_so_long",
    "mpi/test_endings.py::test_a_death_at_the_end_loses_no_report",
    "mpi/ways/test_outcomes.py::test_a_rank_is_stopped_and_others_are_refused",
    "papers/test_theorems.py::test_a_false_statement_is_found_out",
    "plans/trees/test_spanning.py::test_trees_of_random_graphs",
    "drawing/test_parallelograms.py::test_long_and_large_schedules_are_scaled_and_cut",
    "test_docs.py::test_commands_run[docs/capacities.md",
    "test_docs.py::test_commands_run[docs/formats.md",
    "test_docs.py::test_commands_run[docs/one-port.md",
    "test_docs.py::test_commands_run[docs/trees.md",
    "plans/bufferless/test_tree_plans.py::test_farthest_first_is_the_best_of_all_orders",
    "plans/bufferless/test_tree_plans.py::test_shoulder_tap_is_optimal_on_six_nodes",
    "plans/all_port/test_broadcast.py::test_claimed_is_verified_is_simulated_is_the_closed_form[7",
    "plans/all_port/test_broadcast_past_relays.py::test_many_messages_go_down_as_many_trees_as_cuts_allow[boxes",
    "plans/all_port/test_broadcast_past_relays.py::test_hosts_below_two_switches_survive_any_one[broadcast-",
    "plans/all_port/test_star_labels.py::test_the_search_finds_sets[4-2",
    "test_scale.py::test_broadcast_on_362880_nodes_is_planned_and_verified_within_2_gib",
)
BESIDE = ("mpi", "lab", "test_scale", "formats/test_too_large")  # their work is done by other processes


def try_fewer_examples(items):
    """Let hypothesis try a part of the examples that each test asks for."""
    tests = {test for item in items if (test := getattr(item.obj, "__func__", item.obj)) and is_hypothesis(test)}
    for test in tests:
        asked = test._hypothesis_internal_use_settings
        test._hypothesis_internal_use_settings = settings(asked, max_examples=max(1, int(FEWER * asked.max_examples)))


def is_hypothesis(test):
    return getattr(test, "is_hypothesis_test", False)


def leave_to_long_runs(items):
    """Mark as long what ``EACH`` and ``LONG`` leave out of quick runs."""
    met = {}
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        if name.startswith(LONG):
            item.add_marker(pytest.mark.long)
        listed = next((test for test in EACH if name.startswith(test)), None)
        if listed and item.get_closest_marker("long") is None and hasattr(item, "callspec"):
            function = name.partition("[")[0]
            if met.setdefault(function, 0) % EACH[listed]:
                item.add_marker(pytest.mark.long)
            met[function] += 1


WORKERS = (os.cpu_count() or 1) + 1
"""One more than there are cores: tests of MPI and of the lab wait more than they work."""


def pytest_xdist_auto_num_workers(config):
    return WORKERS


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Put long tests first, so that all workers end together; the first of all compiles what all others then load.

    Each worker gets an equal share of the tests to begin with. The second, which would compile the same at the same time as the
    first, begins with tests that wait for other processes.
    """
    leave_to_long_runs(items)
    if config.option.markexpr == "not long":
        try_fewer_examples(items)

    def place(item, folders):
        name = item.nodeid.removeprefix("tests/")
        return next((i for i, folder in enumerate(folders) if name.startswith(folder)), len(folders))

    beside = sorted((item for item in items if place(item, BESIDE) < len(BESIDE)), key=lambda item: place(item, BESIDE))
    others = sorted((item for item in items if place(item, BESIDE) == len(BESIDE)), key=lambda item: place(item, FIRST))
    share = len(items) // WORKERS
    items[:] = others[:share] + beside + others[share:]


def pytest_collection_finish(session):
    """Look for garbage rarely, and not among the modules and tests: compiling kernels takes a tenth longer otherwise."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)


@pytest.fixture(autouse=True, scope="module")
def see_what_others_compiled():
    """Let kernels that another worker has compiled meanwhile be loaded, not run interpreted until compiling pays."""
    compiled._stored.cache_clear()


@pytest.fixture
def ask(capsys):
    """Run a command and return its exit status, its standard output and its standard error."""

    def run(*arguments):
        status = main(list(arguments))
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def answer(ask):
    """Run a command with --json and return its findings."""

    def run(*arguments):
        status, out, err = ask(*arguments, "--json")
        assert (status, err) == (0, "")
        return json.loads(out)

    return run
