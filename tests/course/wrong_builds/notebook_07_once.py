"""Mistakes in notebook 07: keys that mistake one tensor for another, or keep it alive."""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from tests.course.builds import wrong


def place(tensor: Any) -> Any:
    return tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype


def by_key(lesson: Any, key: Callable[[Any], Any], known: Callable[[], Any] = dict) -> Any:
    """Hooks that remember what they packed under a key."""

    class Deduplicate:
        def __init__(self, hooks: Any) -> None:
            self.hooks = hooks
            self.known = known()

        def pack(self, tensor: Any) -> Any:
            name = key(tensor)
            shared = self.known.get(name)
            if shared is None:
                shared = self.known[name] = lesson.Shared(self.hooks.pack(tensor))
            return shared

        def unpack(self, shared: Any) -> Any:
            return self.hooks.unpack(shared.packed)

    return Deduplicate, lesson.Shared


def in_two_steps(lesson: Any, key: Callable[[Any], Any], inner: Callable[[], Any]) -> Any:
    """The solution with another key below the storage, or another inner dictionary."""

    def pack(self: Any, tensor: Any) -> Any:
        views = self.known.setdefault(tensor.untyped_storage(), inner())
        shared = views.get(key(tensor))
        if shared is None:
            shared = views[key(tensor)] = lesson.Shared(self.hooks.pack(tensor))
        return shared

    return type("Deduplicate", (lesson.Deduplicate,), {"pack": pack}), lesson.Shared


@wrong("07.deduplicate", says="the Shared of a detached alias is another object than expected")
def tells_tensors_apart_by_id(lesson: Any) -> Any:
    return by_key(lesson, lambda tensor: (id(tensor), tensor._version, place(tensor)))


@wrong("07.deduplicate", says="came back with the data of another, which was gone")
def tells_storages_apart_by_id(lesson: Any) -> Any:
    return by_key(lesson, lambda t: (id(t.untyped_storage()), t._version, place(t)))


@wrong("07.deduplicate", says="came back with the data of another, which was gone")
def tells_storages_apart_by_address(lesson: Any) -> Any:
    return by_key(lesson, lambda tensor: (tensor.data_ptr(), tensor._version, place(tensor)))


@wrong("07.deduplicate", says="a storage that only the hooks can still hold is still alive")
def keeps_the_storages(lesson: Any) -> Any:
    return by_key(lesson, lambda t: (t.untyped_storage(), t._version, place(t)))


@wrong("07.deduplicate", says="the Shared of slots that are all gone is still alive")
def keeps_the_copies(lesson: Any) -> Any:
    return in_two_steps(lesson, lambda tensor: (tensor._version, place(tensor)), dict)


@wrong("07.deduplicate", says="x.T, packed beside other views, at [0, 1] is")
def takes_all_views_for_one(lesson: Any) -> Any:
    return in_two_steps(lesson, lambda tensor: tensor._version, WeakValueDictionary)


@wrong("07.deduplicate", says="x.T, packed beside other views, at [0, 1] is")
def forgets_the_strides(lesson: Any) -> Any:
    def key(tensor: Any) -> Any:
        return tensor._version, tensor.storage_offset(), tensor.shape, tensor.dtype

    return in_two_steps(lesson, key, WeakValueDictionary)


@wrong("07.deduplicate", says="x[1], packed beside other views, at [0] is")
def forgets_the_offset(lesson: Any) -> Any:
    def key(tensor: Any) -> Any:
        return tensor._version, tensor.shape, tensor.stride(), tensor.dtype

    return in_two_steps(lesson, key, WeakValueDictionary)


@wrong("07.deduplicate", says="what was packed after a write")
def forgets_the_version(lesson: Any) -> Any:
    return in_two_steps(lesson, place, WeakValueDictionary)


@wrong("07.deduplicate", says="the second Shared of a tensor is another object than expected")
def packs_every_slot(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        return lesson.Shared(self.hooks.pack(tensor))

    return type("Deduplicate", (lesson.Deduplicate,), {"pack": pack}), lesson.Shared


@wrong("07.deduplicate", says="hooks.pack called once, expected 3 times (three tensors)")
def shares_one_key_among_all_tensors_of_a_shape(lesson: Any) -> Any:
    return by_key(lesson, lambda tensor: (tensor._version, place(tensor)))


@wrong("07.deduplicate", says="KeyError")
def holds_a_shared_nowhere(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        key = tensor._version, place(tensor)
        views = self.known.setdefault(tensor.untyped_storage(), WeakValueDictionary())
        if key not in views:
            views[key] = lesson.Shared(self.hooks.pack(tensor))
        return views[key]

    return type("Deduplicate", (lesson.Deduplicate,), {"pack": pack}), lesson.Shared


@wrong("07.deduplicate", says="the truth value of a Tensor with 9 elements is ambiguous")
def takes_the_tensor_for_the_key(lesson: Any) -> Any:
    known: Any = WeakKeyDictionary()

    def pack(self: Any, tensor: Any) -> Any:
        key = tensor._version, place(tensor)
        views = known.setdefault(tensor, WeakValueDictionary())
        shared = views.get(key)
        if shared is None:
            shared = views[key] = lesson.Shared(self.hooks.pack(tensor))
        return shared

    return type("Deduplicate", (lesson.Deduplicate,), {"pack": pack}), lesson.Shared
