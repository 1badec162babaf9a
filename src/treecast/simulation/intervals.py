"""Intervals that hold a probability, or a mean, with at least the confidence that they claim, whatever the truth is."""

from math import exp, inf, lgamma, log, log1p, sqrt

_STEPS = 40  # of halving: the ends are found to 1e-9 of the first guess's width
_TINY = 1e-300


def clopper_pearson(hits: int, draws: int, doubt: float) -> tuple[float, float]:
    """Return the ends between which a probability lies, given how often something came true (Clopper & Pearson 1934).

    It came true in ``hits`` of ``draws``, which are independent. The interval fails to hold the probability at most as often
    as ``doubt`` says.

    >>> low, high = clopper_pearson(0, 100, 0.05)
    >>> low, round(high, 6) == round(1 - 0.025 ** 0.01, 6)
    (0.0, True)
    """
    if draws == 0:
        return 0.0, 1.0
    low = 1 - _least_unlikely(draws - hits, draws, doubt / 2) if hits else 0.0
    high = _least_unlikely(hits, draws, doubt / 2) if hits < draws else 1.0
    return max(low, 0.0), high


def _least_unlikely(hits: int, draws: int, doubt: float) -> float:
    """Return the least probability, rounded up, under which at most ``hits`` of ``draws`` come as rarely as ``doubt``."""
    share = hits / draws
    wide = 8 * sqrt(share * (1 - share) / draws) - 8 * log(doubt) / draws
    low, high = share, min(1.0, share + wide)
    while high < 1 and chance_of_at_most(hits, draws, high) > doubt:
        low, high = high, min(1.0, 2 * high)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if chance_of_at_most(hits, draws, middle) > doubt:
            low = middle
        else:
            high = middle
    return high


def chance_of_at_most(hits: int, draws: int, probability: float) -> float:
    """Return how likely at most ``hits`` of ``draws`` come true: the regularised incomplete beta function.

    Its continued fraction is evaluated by the modified method of Lentz (Press et al., Numerical Recipes, 6.4).

    >>> round(chance_of_at_most(1, 3, 0.5), 12)
    0.5
    """
    if hits >= draws or probability <= 0:
        return 1.0
    if probability >= 1:
        return 0.0
    a, b, x = draws - hits, hits + 1, 1 - probability
    front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log1p(-probability) + b * log(probability)
    if x < (a + 1) / (a + b + 2):
        return min(1.0, exp(front) * _fraction(a, b, x) / a)
    return max(0.0, 1 - exp(front) * _fraction(b, a, 1 - x) / b)


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    value, change, m = d, inf, 0
    while abs(change - 1) > 1e-12 and m < 1_000_000:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for term in (even, odd):
            d, c = 1 / _apart(1 + term * d), _apart(1 + term / c)
            value *= d * c
            change *= d * c
    return value


def _apart(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def mean_within(total: float, squares: float, draws: int, doubt: float) -> tuple[float, float]:
    """Return the ends between which the mean of something between 0 and 1 lies, given sums over independent draws.

    The bound is the empirical one of Maurer & Pontil 2009 (arXiv 0907.3740, theorem 4), on either side. ``total`` and
    ``squares``: the sums of the values and of their squares. The interval fails at most as often as ``doubt`` says.

    >>> low, high = mean_within(50.0, 50.0, 100, 0.05)
    >>> 0.2 < low < 0.4 and 0.6 < high < 0.8
    True
    """
    if draws < 2:
        return 0.0, 1.0
    mean, spread = total / draws, max(0.0, squares - total * total / draws) / (draws - 1)
    weight = log(4 / doubt)
    wide = sqrt(2 * spread * weight / draws) + 7 * weight / (3 * (draws - 1))
    return max(0.0, mean - wide), min(1.0, mean + wide)
