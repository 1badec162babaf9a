"""Points on a circle, of which pictures of networks are made."""

import numpy as np
from numpy.typing import NDArray


def circle(points: int) -> NDArray[np.float64]:
    """Return points on a circle of radius 1, the first on top, clockwise: right and down, float64 (points, 2)."""
    angle = 2 * np.pi * np.arange(points) / max(points, 1) - np.pi / 2
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)
