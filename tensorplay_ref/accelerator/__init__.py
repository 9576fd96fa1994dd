"""The simulated accelerator: memory that is counted and time that is computed, on any laptop.

No GPU is used anywhere in this package. A device named "cuda" keeps its tensors in NumPy memory and
keeps books about them:

- `ledger.py` counts live bytes, by category and by the operation that asked, up to a capacity;
- `out_of_memory.py` is the error beyond it, which names the largest owners;
- `clock.py` and `simulated.py` tell when each operation and copy would begin and end;
- `profile.py` holds the sizes and speeds, of two real devices and of one for lessons;
- `events.py` tells everything that happens to whoever records;
- `guard.py` is the lock, which the finalizer of a tensor may decline to wait for.
"""

from .clock import Clock
from .events import Direction, Event, Stream, listening, recording
from .guard import LOCK
from .ledger import CATEGORIES, Allocation, Ledger
from .out_of_memory import OutOfMemoryError, Owner
from .profile import A100, DEFAULT, GH200, LESSON, NANOSECONDS_PER_SECOND, PROFILES, Profile
from .simulated import DEFAULT_CLOCK, HOST, Accelerator, HostLedger

__all__ = [
    "A100",
    "CATEGORIES",
    "DEFAULT",
    "DEFAULT_CLOCK",
    "GH200",
    "HOST",
    "LESSON",
    "LOCK",
    "NANOSECONDS_PER_SECOND",
    "PROFILES",
    "Accelerator",
    "Allocation",
    "Clock",
    "Direction",
    "Event",
    "HostLedger",
    "Ledger",
    "OutOfMemoryError",
    "Owner",
    "Profile",
    "Stream",
    "listening",
    "recording",
]
