"""What all ways to run a schedule on real bytes have in their results."""

from dataclasses import dataclass

from treecast.description import Described
from treecast.schedule import Schedule
from treecast.simulation.delivery import describe_sends
from treecast.units import spell_seconds


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Outcome(Described):
    """What a run on real bytes came to; each way to run a schedule adds what it found.

    Parameters
    ----------
    schedule : Schedule
        What ran.
    size : int
        The bytes of the data.
    steps, transmissions : int
        Of the sends that took place.
    lost_sends : int
        How many of them went over a failed arc or to a failed node.
    seconds : float
        The time that it took.
    """

    schedule: Schedule
    size: int
    steps: int
    transmissions: int
    lost_sends: int
    seconds: float

    def figures_of_run(self) -> dict[str, object]:
        """Return what JSON says of the sends and the time."""
        return {
            "steps": self.steps,
            "transmissions": self.transmissions,
            "lost_sends": self.lost_sends,
            "seconds": round(self.seconds, 6),
        }

    def lines_of_run(self) -> dict[str, object]:
        """Return what the terminal says of them."""
        sends = describe_sends(self.transmissions, self.lost_sends)
        return {"steps": self.steps, "transmissions": sends, "moved in": spell_seconds(self.seconds)}
