"""Started with ``python -m mpi4py.futures``: all ranks but the first replay, and the result is that of one process."""

from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor

from treecast import plan, reliability, sweep

if __name__ == "__main__":
    schedule = plan("broadcast", "star:4", copies=2)
    alone = reliability(schedule, 0.05, 0.01, sets=20_000, seed=3)
    swept = sweep(schedule, 4, keep_going=True)
    with MPIPoolExecutor() as ranks:
        found = reliability(schedule, 0.05, 0.01, sets=20_000, seed=3, executor=ranks)
        again = sweep(schedule, 4, keep_going=True, executor=ranks)
    same = (found.harms, found.pool, found.tail) == (alone.harms, alone.pool, alone.tail)
    same = same and (again.sets, again.failing, again.counterexample) == (
        swept.sets,
        swept.failing,
        swept.counterexample,
    )
    print(f"{MPI.COMM_WORLD.size} ranks, {len(found.harms)} strata: {'the same' if same else 'NOT THE SAME'}")
