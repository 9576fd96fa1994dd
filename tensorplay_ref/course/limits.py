"""What the run of a submission may take."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one submission may take: seconds in all and in one cell, and megabytes of memory."""

    seconds: float = 300
    cell_seconds: float = 30
    megabytes: int = 4000


# Python, NumPy, IPython and matplotlib alone need about 200.
LEAST_MEGABYTES = 500
