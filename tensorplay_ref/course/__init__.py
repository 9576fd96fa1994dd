"""What turns the notebooks into a course: refreshing, exercises, self-checks and the digits.

A notebook needs NumPy alone. The commands of ``python -m tensorplay_ref.course`` run notebooks and
need the extra ``lab`` or ``test``, so nothing of theirs is imported here.
"""

from .check import CheckFailed, Verdict, check

__all__ = ["CheckFailed", "Verdict", "check"]
