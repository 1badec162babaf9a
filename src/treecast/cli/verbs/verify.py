"""``treecast verify``."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from treecast.cli import console
from treecast.cli.arguments import File, ModelName, Output, Seed, TimeOptions
from treecast.cli.files import ToldOptions, save
from treecast.cli.options import Flag, Json, check_numbers
from treecast.description import Description, describe
from treecast.errors import TreecastError
from treecast.simulation.fault_sets import Kind


def verify(
    file: File,
    /,
    *,
    model: ModelName = None,
    expanded: Flag = False,
    same_bits: Flag = False,
    bounds: Flag = False,
    sweep: Kind | None = None,
    most: int | None = None,
    liars: int = 0,
    sample: int | None = None,
    seed: Seed = 0,
    keep_going: Flag = False,
    workers: int = 1,
    told: ToldOptions = ToldOptions(),
    times: TimeOptions = TimeOptions(),  # noqa: B008
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Verify a schedule file against every rule; with --sweep also replay it under sets of faults.

    Example: treecast verify plan.tc --sweep nodes

    Parameters
    ----------
    expanded
        Judge every single send, slowly, instead of whole streams.
    same_bits
        Fail where the bits of sums differ at ranks, or depend on the size of the message or the place in it.
    bounds
        Print every lower bound, not the greatest alone.
    sweep
        Also replay it under every set of such faults.
    most
        The most faults of a set; else as many as the schedule claims to survive.
    liars
        Besides, at most so many others lie; each node takes the majority value of its copies.
    sample
        Instead of all sets, this many random ones of exactly that size.
    keep_going
        Count all failing sets, instead of stopping at the first.
    workers
        Spread the sweep over so many processes; the result is the same for any number.
    output
        Also write the schedule to this file if it is right.
    """
    import treecast
    from treecast.plans.timing import seconds_of
    from treecast.simulation import sweeps
    from treecast.simulation.spreading import processes
    from treecast.verification.report import with_all_bounds

    # 1. Options of a sweep without a sweep are a slip.
    check_numbers(seed=seed)
    if sweep is None:
        given = {
            "--most": most is not None,
            "--liars": liars,
            "--sample": sample is not None,
            "--keep-going": keep_going,
            "--workers": workers != 1,
        }
        if idle := [name for name, used in given.items() if used]:
            raise TreecastError(f"{idle[0]} says how to sweep: name the parts that fail as well, as in --sweep nodes")
    # 2. The verdict on the file.
    verdict, schedule_of = treecast.formats.judge(file, told.read(), model, "expanded" if expanded else "fast")
    if sweep is not None and isinstance(verdict, treecast.formats.FileVerdict):
        raise TreecastError(
            f"--sweep is for schedules: 'treecast verify {file} -o plan.tc' makes one of this file, and --sweep takes that"
        )
    # 3. What is said beside it: bounds, seconds, bits.
    found = describe(verdict)
    if bounds and not isinstance(verdict, treecast.formats.FileVerdict):
        found = with_all_bounds(verdict, found)
    if verdict and not isinstance(verdict, treecast.formats.FileVerdict):
        schedule = schedule_of()
        costs = times.read(schedule.network) or schedule.costs
        found = found.joined(seconds_of(replace(schedule, costs=costs)), after="steps")
    if same_bits and found.holds:
        bits = cast("Mapping[str, Any]", found.figures).get("bits")
        if bits is None:
            raise TreecastError("--same-bits tells of sums: this plan adds nothing, or has more than 131,072 sends")
        said = Description({}, {"same bits": "yes" if bits["same"] else "NO"}, holds=bits["same"])
        found = found.joined(said, after=next(iter(found.lines)))
    # 4. The sweep, of a schedule that is right.
    if sweep is not None and verdict:
        with processes(workers) as executor, console.progress("fault sets"):
            swept = sweeps.sweep(
                schedule_of(),
                most,
                sweep,
                liars=liars,
                sample=sample,
                seed=seed,
                keep_going=keep_going,
                executor=executor,
            )
        found = found.joined(describe(swept), after="verified")
    # 5. The file, of one that holds in all of it.
    if output is not None and found.holds:
        save(schedule_of(), output)
    return console.show(found, as_json)
