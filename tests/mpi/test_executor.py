"""Sets of faults are spread over ranks."""

from pathlib import Path

PROGRAM = Path(__file__).parent / "spread_reliability.py"
