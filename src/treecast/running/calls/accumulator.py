"""Exact sums that a program keeps, and adds up over ranks at last."""

from importlib import import_module
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from treecast.errors import PlanError
from treecast.running.algorithms.exact import Exact, check_small, parts_of, widen
from treecast.running.calls.member import Member


class Accumulator:
    """The exact sum of arrays, of numpy or tensors of torch, that a rank adds one after the other, and of those of all ranks.

    It is rounded once, in ``allreduce``. So the bits depend on the arrays alone: 8 ranks with one each, 2 with 4, and 1 with 8
    have the same. An entry takes a float64 where that holds the sum, and as many more as it needs.

    Parameters
    ----------
    like : array or tensor
        What is added has its shape and type: float16, bfloat16, float32, float64 or complex, in memory of the CPU.

    Raises
    ------
    PlanError
        For another type, for arrays that are not like it, and in a thread that takes floats near 0 for 0.

    Examples
    --------
    >>> import numpy as np
    >>> import treecast
    >>> total = treecast.Accumulator(np.zeros(1, np.float32))
    >>> for each in (1e8, 1, -1e8):
    ...     total.add(np.array([each], np.float32))
    >>> total.rows
    [array([1.])]
    >>> total.allreduce(comm)                                       # doctest: +SKIP
    array([1.], dtype=float32)
    """

    def __init__(self, like: Any) -> None:
        is_numpys = isinstance(cast("object", like), (np.ndarray, np.generic))
        self._torch: Any = None if is_numpys else import_module("torch")
        self.shape, self.dtype = _likeness(like)
        self._spelled = str(self.dtype).removeprefix("torch.")
        if not Exact.adds(self._spelled):
            raise PlanError(f"an Accumulator adds floats to 64 bits and complex numbers of them, not {self._spelled}")
        self.rows = [np.full(self._floats(like).shape, -0.0)]  # -0.0 changes no sum, not even that of zeros
        """The sums, float64 (numbers,) each, whose exact sum they are; the parts of complex numbers are numbers by themselves."""

    def add(self, array: Any) -> None:
        """Add an array, or a tensor, that is like the first."""
        check_small()  # flushed subnormals would lose parts of a sum
        rest = self._floats(array).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            for row in self.rows:
                # The sum, and exactly what its rounding left out (Knuth's two-sum): that goes on to the next row.
                total = row + rest
                away = total - row
                error = (row - (total - away)) + (rest - away)
                if not np.isfinite(total).all():  # what overflows goes on as it is
                    over = np.isfinite(row) & np.isfinite(rest) & ~np.isfinite(total)
                    error = np.where(over, rest, np.where(np.isfinite(total), error, 0))
                    total = np.where(over, row, total)
                row[:], rest = total, error
                if not rest.any():  # nothing was left out: the other rows stay
                    return
                rest[rest == 0] = -0.0  # which changes no sum
        self.rows.append(rest)  # no row holds the rest: one more float64 for each number

    def allreduce(self, comm: Any) -> Any:
        """Return the sum of all that all ranks have added, rounded once; all ranks call this.

        ``comm``: a communicator of treecast, or a process group of PyTorch's over it. ``comm.last.failed`` are the ranks that are
        not in the sum, as after an allreduce. The accumulator stays as it is. Raises PlanError, at all ranks, for accumulators of
        unlike arrays.
        """
        member: Any = getattr(comm, "comm", comm)  # a process group of PyTorch's has the communicator inside
        if not isinstance(member, Member):
            raise PlanError(f"an Accumulator adds over a communicator of treecast, not {type(comm).__name__}")
        # what all accumulators must have alike, behind the number of rows
        mine = (len(self.rows), self.shape, self._spelled)
        said = [each for each in member.ask("Accumulator.allreduce", mine) if each is not None]
        if other := next((each for each in said if each[1:] != mine[1:]), None):
            raise PlanError(
                f"the ranks add {mine[2]} {mine[1]} and {other[2]} {other[1]}: accumulators have one shape and type"
            )
        columns = max(each[0] for each in said)  # as many as the longest: all ranks send equal lengths
        every = np.full((len(self.rows[0]), columns), -0.0)
        every[:, : len(self.rows)] = np.transpose(self.rows)
        out = np.empty_like(every)
        member.sum_exactly(
            every.reshape(-1).view(np.uint8).data, out.reshape(-1).view(np.uint8).data, Exact(self._spelled, columns)
        )
        return self._spell(out[:, 0])

    def state_dict(self) -> dict[str, Any]:
        """Return the sums, for a checkpoint."""
        return {"rows": np.array(self.rows), "shape": self.shape, "type": self._spelled}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take the sums of a checkpoint in place of these. Raises PlanError for those of arrays that are not like the first."""
        if (tuple(state["shape"]), state["type"]) != (self.shape, self._spelled):  # a checkpoint of another model, say
            raise self._unlike(state["shape"], state["type"])
        self.rows = [*np.array(state["rows"], np.float64)]

    def _floats(self, array: Any) -> NDArray[Any]:
        """Return an array as a row of floats. Raises PlanError for one that is not like the first."""
        if (found := _likeness(array)) != (self.shape, self.dtype):
            raise self._unlike(*found)
        if self._torch is None:
            memory = np.ascontiguousarray(array).reshape(-1)
        elif array.numel():
            memory = (
                # a view of bytes: numpy has no bfloat16 of its own
                array.detach().resolve_conj().resolve_neg().reshape(-1).contiguous().view(self._torch.uint8).numpy()
            )
        else:  # which torch gives no other type
            memory = np.empty(0, np.uint8)
        return widen(memory.view(parts_of(self._spelled)))

    def _unlike(self, shape: Any, dtype: Any) -> PlanError:
        return PlanError(f"an Accumulator of {self._spelled} {self.shape} takes no {dtype} {tuple(shape)}")

    def _spell(self, values: NDArray[np.float64]) -> Any:
        """Return floats that the type has in its own form."""
        dtype = parts_of(self._spelled)
        if dtype.kind == "u":
            # bfloat16: the upper half of a float32
            found: Any = (values.astype(np.float32).view(np.uint32) >> 16).astype(dtype)
        else:
            found = values.astype(dtype)
        if self._torch is not None:
            found = (  # torch takes no array without entries
                self._torch.from_numpy(found.view(np.uint8)) if found.size else self._torch.empty(0, dtype=self.dtype)
            )
        return found.view(self.dtype).reshape(self.shape)


def _likeness(array: Any) -> tuple[tuple[int, ...], Any]:
    """Return the shape and type of an array or a tensor. Raises PlanError for anything else."""
    try:
        return tuple(array.shape), array.dtype
    except (AttributeError, TypeError):
        raise PlanError(
            f"an Accumulator adds arrays of numpy and tensors of torch, not {type(array).__name__}"
        ) from None
