"""Wrong builds of notebook 04."""

from types import ModuleType
from typing import Any

import numpy as np

from tests.course.builds import wrong


@wrong("04.counter", says="after a write through a view, the version is 0, expected 1")
def counts_in_the_tensor(lesson: ModuleType) -> tuple[Any, ...]:
    class Counted:
        def __init__(self, array: Any, own: bool = True) -> None:
            self.array = np.array(array) if own else array
            self.storage = lesson.CountedStorage(self.array)

        def __getitem__(self, index: Any) -> Any:
            return Counted(self.array[index], False)

        def write_(self, values: Any) -> None:
            self.array[...] = values
            self.storage.version += 1

    return Counted, lesson.Saved


@wrong("04.counter", says="after a write through a view, the version is 0, expected 1")
def copies_the_counter_into_a_view(lesson: ModuleType) -> tuple[Any, ...]:
    class Counted(lesson.CountedTensor):  # type: ignore[misc, name-defined]
        def __getitem__(self, index: Any) -> Any:
            storage = lesson.CountedStorage(self.storage.buffer)
            storage.version = self.storage.version
            return Counted(self.array[index], storage)

    return Counted, lesson.Saved


@wrong("04.counter", says="no error when it is read after a write, expected RuntimeError")
def notes_the_version_when_it_is_read(lesson: ModuleType) -> tuple[Any, ...]:
    class Saved(lesson.Saved):  # type: ignore[misc, name-defined]
        def read(self) -> Any:
            self.expected = self.tensor.storage.version
            return super().read()

    return lesson.CountedTensor, Saved


@wrong("04.counter", says="no error when it is read after a write, expected RuntimeError")
def saves_a_copy(lesson: ModuleType) -> tuple[Any, ...]:
    class Saved:
        def __init__(self, tensor: Any) -> None:
            self.array = tensor.array.copy()

        def read(self) -> Any:
            return self.array

    return lesson.CountedTensor, Saved


@wrong("04.counter", says="read after a write before saving raises")
def expects_version_0(lesson: ModuleType) -> tuple[Any, ...]:
    class Saved(lesson.Saved):  # type: ignore[misc, name-defined]
        def __init__(self, tensor: Any) -> None:
            super().__init__(tensor)
            self.expected = 0

    return lesson.CountedTensor, Saved


@wrong("04.counter", says="no error when it is read after a change and its undoing")
def compares_values(lesson: ModuleType) -> tuple[Any, ...]:
    class Saved:
        def __init__(self, tensor: Any) -> None:
            self.tensor, self.before, self.version = tensor, tensor.array.copy(), 0

        def read(self) -> Any:
            if (self.tensor.array != self.before).any():
                found = self.tensor.storage.version
                raise RuntimeError(f"it is at version {found}; expected version {self.version}")
            return self.tensor.array

    return lesson.CountedTensor, Saved


@wrong("04.counter", says="(tried: a write after saving)")
def refuses_the_write(lesson: ModuleType) -> tuple[Any, ...]:
    class Saved(lesson.Saved):  # type: ignore[misc, name-defined]
        def __init__(self, tensor: Any) -> None:
            super().__init__(tensor)
            tensor.array.flags.writeable = False

    return lesson.CountedTensor, Saved


@wrong("04.counter", says="after a write to another tensor, what is read is [7.0, 7.0, 7.0]")
def looks_into_the_callers_array(lesson: ModuleType) -> tuple[Any, ...]:
    class Counted(lesson.CountedTensor):  # type: ignore[misc, name-defined]
        def __init__(self, array: Any, storage: Any = None) -> None:
            super().__init__(array, storage or lesson.CountedStorage(array))

    return Counted, lesson.Saved


@wrong("04.programs", says="program 2 does not raise in the package")
def every_write_raises(lesson: ModuleType) -> tuple[Any, ...]:
    return set(lesson.programs), lesson.programs


@wrong("04.programs", says="program 8 raises in the package: y = h * h; h[0:1].zero_()")
def views_have_counters_of_their_own(lesson: ModuleType) -> tuple[Any, ...]:
    return lesson.must_raise - {8, 10}, lesson.programs


@wrong("04.programs", says="program 4 does not raise in the package: y = h * c; h.add_(1.0)")
def every_operand_is_saved(lesson: ModuleType) -> tuple[Any, ...]:
    return lesson.must_raise | {3, 4, 6, 12} - {3}, lesson.programs


@wrong("04.programs", says="program 11 raises in the package")
def a_change_that_is_undone_does_not_count(lesson: ModuleType) -> tuple[Any, ...]:
    return lesson.must_raise - {11}, lesson.programs


@wrong("04.programs", says="there is no program 13")
def names_a_program_that_is_not_there(lesson: ModuleType) -> tuple[Any, ...]:
    return lesson.must_raise | {13}, lesson.programs


@wrong("04.programs", says="must_raise is True, expected a set such as {3, 9}")
def answers_with_a_bool(lesson: ModuleType) -> tuple[Any, ...]:
    return True, lesson.programs
