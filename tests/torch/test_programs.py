"""Programs as owners of PyTorch write them: no crash, no hang, and what gloo gives where gloo gives anything."""

import random
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.torch.ranks import run  # noqa: E402

with warnings.catch_warnings():  # of torch, of its own modules
    warnings.simplefilter("ignore")
    from tests.torch.programs import FAMILIES, RESULTS

SIZES = {
    "parallel": (2, 4),
    "hooks": (2, 3),
    "sharded": (2, 4),
    "compiled": (2,),
    "futures": (2, 3, 4),
    "tensors": (2, 3),
}
AT_ONCE = 6  # programs that one job carries out
CASES = [
    (family, n, list(FAMILIES[family])[first : first + AT_ONCE])
    for family, sizes in SIZES.items()
    for n in sizes
    for first in range(0, len(FAMILIES[family]), AT_ONCE)
]


def outcomes(rank, n, names, family):
    """Return what each program returned, or the error that it raised."""
    found = {}
    warnings.simplefilter("ignore")
    for name in names:
        random.seed(rank)
        torch.manual_seed(0)
        try:
            found[name] = FAMILIES[family][name](rank, n)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


def near(one, other):
    """Return whether results are alike, but for the order in which sums were added."""
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(near, one, other))
    return one == pytest.approx(other, rel=1e-3, abs=1e-4) if isinstance(one, float) else one == other


@pytest.mark.parametrize(("family", "n", "names"), CASES, ids=[f"{a}-{n}-{names[0]}" for a, n, names in CASES])
def test_programs_give_what_gloo_gives(family, n, names):
    ours = run(n, outcomes, n, names, family)
    theirs = run(n, outcomes, n, [name for name in names if name not in RESULTS], family, backend="gloo")
    wrong, compared = [], 0
    for rank, name in ((rank, name) for rank in range(n) for name in names):
        result = RESULTS.get(name)
        wanted = theirs[rank][name] if result is None else result(n) if callable(result) else result
        if isinstance(wanted, str) and "Error" in wanted:  # torch, or gloo, refuses it
            continue
        compared += 1
        if not near(ours[rank][name], wanted):
            wrong.append((rank, name, ours[rank][name], wanted))
    assert not wrong
    assert 3 * compared >= n * len(names), theirs[0]
