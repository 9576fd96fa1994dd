"""Mistakes in notebook 09: owners, predictions, and thresholds."""

import weakref
from typing import Any
from uuid import uuid4

import numpy as np

import tensorplay_ref as tp
from tests.course.builds import wrong


class Named:
    """A file with a random name, written at once; the mistakes below do the rest."""

    def __init__(self, folder: Any, array: Any) -> None:
        self.path = folder / f"{uuid4().hex}.npy"
        self.before()
        np.save(self.path, array, allow_pickle=False)
        self.after()

    def before(self) -> None:
        """What is done before writing."""

    def after(self) -> None:
        """What is done after writing."""

    def read(self) -> Any:
        return np.load(self.path, allow_pickle=False)


@wrong("09.owner", says="the number of files when the object is gone is 1, expected 0")
def never_deletes(lesson: Any) -> Any:
    return (Named,)


@wrong("09.owner", says="an object that nobody holds is still alive")
def waits_for_itself(lesson: Any) -> Any:
    class SavedFile(Named):
        def before(self) -> None:
            weakref.finalize(self, self.delete)

        def delete(self) -> None:
            self.path.unlink(missing_ok=True)

    return (SavedFile,)


@wrong("09.owner", says="an array that is in a file is still alive")
def keeps_the_array_as_well(lesson: Any) -> Any:
    class SavedFile(lesson.SavedFile):  # type: ignore[misc]
        def __init__(self, folder: Any, array: Any) -> None:
            super().__init__(folder, array)
            self.array = array

    return (SavedFile,)


@wrong("09.owner", says="FileNotFoundError")
def deletes_at_the_first_read(lesson: Any) -> Any:
    class SavedFile(lesson.SavedFile):  # type: ignore[misc]
        def read(self) -> Any:
            array = super().read()
            self.path.unlink()
            return array

    return (SavedFile,)


@wrong("09.owner", says="the number of files after a write that failed is 1, expected 0")
def arranges_the_end_after_writing(lesson: Any) -> Any:
    class SavedFile(Named):
        def after(self) -> None:
            weakref.finalize(self, self.path.unlink, missing_ok=True)

    return (SavedFile,)


@wrong("09.owner", says="no error for an array of Python objects, expected ValueError")
def lets_pickle_in(lesson: Any) -> Any:
    class SavedFile(lesson.SavedFile):  # type: ignore[misc]
        def __init__(self, folder: Any, array: Any) -> None:
            super().__init__(folder, np.zeros(1))
            np.save(self.path, array, allow_pickle=True)

    return (SavedFile,)


@wrong("09.owner", says="the number of files while two objects live is 1, expected 2")
def gives_every_file_one_name(lesson: Any) -> Any:
    class SavedFile(Named):
        def before(self) -> None:
            self.path = self.path.with_name("saved.npy")
            weakref.finalize(self, self.path.unlink, missing_ok=True)

    return (SavedFile,)


@wrong("09.owner", says="the second of three arrays")
def numbers_the_files_that_are_there(lesson: Any) -> Any:
    class SavedFile(Named):
        def before(self) -> None:
            number = len(list(self.path.parent.iterdir()))
            self.path = self.path.with_name(f"{number}.npy")
            weakref.finalize(self, self.path.unlink, missing_ok=True)

    return (SavedFile,)


@wrong("09.owner", says="the number of files while one object lives is 0, expected 1")
def keeps_the_array_in_memory(lesson: Any) -> Any:
    class SavedFile:
        def __init__(self, folder: Any, array: Any) -> None:
            self.array = array

        def read(self) -> Any:
            return self.array

    return (SavedFile,)


@wrong("09.owner", says="an object that nobody holds is still alive")
def is_held_by_a_list_of_all(lesson: Any) -> Any:
    every: list[Any] = []

    class SavedFile(lesson.SavedFile):  # type: ignore[misc]
        def __init__(self, folder: Any, array: Any) -> None:
            super().__init__(folder, array)
            every.append(self)

    return (SavedFile,)


def predicted(lesson: Any, **changes: Any) -> Any:
    return lesson.programs, {**lesson.prediction, **changes}


@wrong("09.files_left", says="retained: 0 is not what is left; what does retain_graph keep?")
def believes_that_every_backward_releases(lesson: Any) -> Any:
    return predicted(lesson, retained=0)


@wrong("09.files_left", says="walked: '0' is no whole number")
def writes_the_numbers_as_strings(lesson: Any) -> Any:
    return predicted(lesson, walked="0")


@wrong("09.files_left", says="walked: 3 is not what is left")
def believes_that_a_loss_keeps_its_files(lesson: Any) -> Any:
    return predicted(lesson, walked=3)


@wrong("09.files_left", says="half: 0 is not what is left; through which nodes")
def believes_that_grad_walks_to_the_leaves(lesson: Any) -> Any:
    return predicted(lesson, half=0)


@wrong("09.files_left", says="summed: 0 is not what is left; is the sum a tensor")
def takes_a_sum_of_losses_for_a_number(lesson: Any) -> Any:
    return predicted(lesson, summed=0)


@wrong("09.files_left", says="middle: 3 is not what is left")
def believes_that_the_middle_holds_what_follows(lesson: Any) -> Any:
    return predicted(lesson, middle=3)


@wrong("09.files_left", says="there is no prediction for 'failed'")
def leaves_one_out(lesson: Any) -> Any:
    return lesson.programs, {k: v for k, v in lesson.prediction.items() if k != "failed"}


def hooks_class(lesson: Any, **methods: Any) -> Any:
    """The solution with some methods replaced."""
    return (type("OnDisk", (lesson.OnDisk,), methods),)


@wrong("09.threshold", says="of tensors of 24, 32 and 40 is [40], expected [32, 40]")
def writes_what_is_larger_only(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        large = tensor.nbytes > self.min_bytes
        return self.write(tensor.detach().numpy()) if large else tensor.clone()

    return hooks_class(lesson, pack=pack)


@wrong("09.threshold", says="of tensors of 24, 32 and 40 is [24, 32, 40], expected [32, 40]")
def writes_everything(lesson: Any) -> Any:
    return hooks_class(lesson, pack=lambda self, tensor: self.write(tensor.detach().numpy()))


@wrong("09.threshold", says="the bytes that were written, of a mask of 32 bytes is [32]")
def takes_every_element_for_eight_bytes(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        large = 8 * tensor.numel() >= self.min_bytes
        return self.write(tensor.detach().numpy()) if large else tensor.clone()

    return hooks_class(lesson, pack=pack)


@wrong("09.threshold", says="overwritten after saving, at [0] is")
def keeps_small_tensors_themselves(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        large = tensor.nbytes >= self.min_bytes
        return self.write(tensor.detach().numpy()) if large else tensor.detach()

    return hooks_class(lesson, pack=pack)


@wrong("09.threshold", says="the number of owners after the last backward is 3, expected 0")
def keeps_the_owners_in_a_list(lesson: Any) -> Any:
    owners: list[Any] = []

    def pack(self: Any, tensor: Any) -> Any:
        packed = lesson.OnDisk.pack(self, tensor)
        owners.append(packed)
        return packed

    return hooks_class(lesson, pack=pack)


@wrong("09.threshold", says="write was given a float64 tensor of shape (4,), expected a NumPy")
def writes_tensors(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        large = tensor.nbytes >= self.min_bytes
        return self.write(tensor) if large else tensor.clone()

    return hooks_class(lesson, pack=pack)


@wrong("09.threshold", says="a tensor of 32 bytes has dtype float32, expected float64")
def makes_everything_float32(lesson: Any) -> Any:
    def unpack(self: Any, packed: Any) -> Any:
        tensor = lesson.OnDisk.unpack(self, packed)
        return tensor if isinstance(packed, tp.Tensor) else tensor.to(tp.float32)

    return hooks_class(lesson, unpack=unpack)
