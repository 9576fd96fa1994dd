"""Mistakes in notebook 05: the log and the index."""

from typing import Any

import tensorplay_ref as tp
from tests.course.builds import wrong


@wrong("05.log", says="x * x: 1 calls of pack in the log, expected 2")
def logs_each_tensor_once(lesson: Any) -> Any:
    def logging_hooks(log: Any) -> Any:
        pack, unpack = lesson.logging_hooks(log)
        seen = set()

        def pack_once(tensor: Any) -> Any:
            if id(tensor) in seen:
                return tensor
            seen.add(id(tensor))
            return pack(tensor)

        return pack_once, unpack

    return (logging_hooks,)


@wrong("05.log", says="x * x: 0 calls of unpack in the log, expected 2")
def logs_packs_only(lesson: Any) -> Any:
    return (lambda log: (lesson.logging_hooks(log)[0], lambda packed: packed),)


@wrong("05.log", says="unpack_hook is expected to be a Tensor")
def packs_into_the_shape(lesson: Any) -> Any:
    def logging_hooks(log: Any) -> Any:
        def pack(tensor: Any) -> Any:
            log.append(("pack", tensor.shape, tensor.nbytes))
            return tensor.shape

        return pack, lambda packed: packed

    return (logging_hooks,)


@wrong("05.log", says="x * x: step 1 is ('pack', (6,), 24), expected ('pack', (6,), 48)")
def takes_every_number_for_four_bytes(lesson: Any) -> Any:
    def logging_hooks(log: Any) -> Any:
        def call(name: str) -> Any:
            def hook(tensor: Any) -> Any:
                log.append((name, tensor.shape, 4 * tensor.numel()))
                return tensor

            return hook

        return call("pack"), call("unpack")

    return (logging_hooks,)


@wrong("05.log", says="a tensor that only the log can still hold is still alive")
def keeps_the_tensors_for_later(lesson: Any) -> Any:
    kept = []

    def logging_hooks(log: Any) -> Any:
        pack, unpack = lesson.logging_hooks(log)

        def keep(tensor: Any) -> Any:
            kept.append(tensor)
            return pack(tensor)

        return keep, unpack

    return (logging_hooks,)


@wrong("05.log", says="logging_hooks(log) returned None, expected a pair (pack, unpack)")
def forgets_to_return_the_pair(lesson: Any) -> Any:
    return (lambda log: None,)


def store_class(lesson: Any, **attributes: Any) -> Any:
    """The solution with some methods replaced."""
    return (type("IndexStore", (lesson.IndexStore,), attributes),)


@wrong("05.index_store", says="pop index out of range")
def takes_what_it_reads_out_of_the_list(lesson: Any) -> Any:
    return store_class(lesson, unpack=lambda self, index: self.tensors.pop(index))


@wrong("05.index_store", says="unpack(1)")
def reads_the_newest(lesson: Any) -> Any:
    return store_class(lesson, unpack=lambda self, index: self.tensors[-1])


@wrong("05.index_store", says="two of them equal: step 1 is")
def takes_the_id_for_an_index(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        self.tensors.append(tensor.clone())
        return id(tensor) % 1000 + 1000

    return store_class(lesson, pack=pack, unpack=lambda self, index: self.tensors[-1])


@wrong("05.index_store", says="two of them equal: step 3 is 0, expected 2")
def searches_the_list_for_an_equal_tensor(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        for index, stored in enumerate(self.tensors):
            if stored.shape == tensor.shape and bool((stored == tensor).all()):
                return index
        return lesson.IndexStore.pack(self, tensor)

    return store_class(lesson, pack=pack)


@wrong("05.index_store", says="the number of tensors in a second, unused store is")
def shares_one_list_among_all_stores(lesson: Any) -> Any:
    store = type("IndexStore", (lesson.IndexStore,), {"__init__": lambda self: None})
    store.tensors = []
    return (store,)


@wrong("05.index_store", says="overwritten after saving, at [0] is")
def stores_the_tensor_itself(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> int:
        self.tensors.append(tensor.detach())
        return len(self.tensors) - 1

    return store_class(lesson, pack=pack)


@wrong("05.index_store", says="for a tensor saved as int64")
def makes_floats_of_everything(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        return lesson.IndexStore.pack(self, tensor.to(tp.float64))

    return store_class(lesson, pack=pack)


@wrong("05.index_store", says="unpack(1) is an int, expected a Tensor")
def hands_the_index_back(lesson: Any) -> Any:
    return store_class(lesson, unpack=lambda self, index: index)
