"""How long messages are where several rows share an arc and a step, and messages combine."""

import numpy as np

from treecast.models import Model
from treecast.ragged import Ints, places


def longest_messages(model: Model, step: Ints, steps: Ints, *, chunks: Ints, carrier: Ints, total: int) -> Ints:
    """Return the most chunks that one message has in each of ``total`` steps, of sends that begin at ``step``, take ``steps``
    and have that many ``chunks``; those of one ``carrier`` and step are one message, if messages combine in the model.
    """
    if not model.combining:
        begun, over = (np.bincount(at, minlength=total + 1) for at in (step, step + steps))
        return (np.cumsum(begun - over)[:total] > 0).astype(np.int64)
    at = np.repeat(step, steps) + places(steps)
    key, which = np.unique(np.repeat(carrier, steps) * (total + 1) + at, return_inverse=True)
    together, sizes = np.zeros(len(key), np.int64), np.zeros(total, np.int64)
    np.add.at(together, which, np.repeat(np.where(steps > 1, 1, chunks), steps))
    np.maximum.at(sizes, key % (total + 1), together)
    return sizes
