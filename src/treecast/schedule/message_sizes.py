"""How long messages are where several rows share an arc and a step, and messages combine."""

import numpy as np

from treecast.models import Model
from treecast.ragged import Ints, places


def longest_messages(model: Model, step: Ints, pace: Ints, *, chunks: Ints, carrier: Ints, total: int) -> Ints:
    """Return the most chunks that one message has in each of ``total`` steps, of rows that begin at ``step``, have that ``pace``
    and that many ``chunks``; those of one ``carrier`` and step are one message, if messages combine in the model.
    """
    count = np.where(pace > 0, np.maximum(chunks, 1), 1)  # the steps in which each row sends
    if not model.combining:
        sent = np.zeros(total, bool)
        for each in np.unique(pace).tolist():
            some, stride = pace == each, max(each, 1)  # by remainder of the step, the sends of a pace in each turn
            turns = -(-total // stride) + 1
            ends = (step[some] % stride * turns + step[some] // stride + over for over in (0, count[some]))
            begun, over = (np.bincount(at, minlength=stride * turns + 1) for at in ends)
            sent |= (np.cumsum(begun - over)[:-1].reshape(stride, turns).T.reshape(-1) > 0)[:total]
        return sent.astype(np.int64)
    at = np.repeat(step, count) + places(count) * np.repeat(pace, count)
    key, which = np.unique(np.repeat(carrier, count) * (total + 1) + at, return_inverse=True)
    together, sizes = np.zeros(len(key), np.int64), np.zeros(total, np.int64)
    np.add.at(together, which, np.repeat(np.where(pace > 0, np.minimum(chunks, 1), chunks), count))
    np.maximum.at(sizes, key % (total + 1), together)
    return sizes
