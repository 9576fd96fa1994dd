"""What a diagram of a graph is made of. Words and numbers only: it keeps no tensor alive."""

from __future__ import annotations

from dataclasses import dataclass

TO_THE_NEXT = "to the next"


@dataclass(frozen=True)
class Box:
    """One operation of the diagram, or several equal ones that are folded into it.

    Attributes:
        position: of the first one in the row of operations, from 0; its number is one more.
        title: number and name, such as "3 Relu"; of a summed-up rest "3 to 90".
        names: of a summed-up rest its operations with their counts; else "".
        result: shape and dtype of its result; "" when there are several.
        count: how many operations it stands for.
        freed: how many of their saved slots have been freed.
        is_root: whether the diagram was asked for its result.
    """

    position: int
    title: str
    names: str
    result: str
    count: int
    freed: int
    is_root: bool


@dataclass(frozen=True)
class LeafBox:
    """One leaf, or several that are used alike by folded operations."""

    title: str
    tensor: str
    count: int


@dataclass(frozen=True)
class Arrow:
    """An edge, in the direction of the forward computation.

    Attributes:
        source: position of a box, or of a leaf when `from_leaf`.
        target: position of a box.
        output: which result of the source it is.
        count: how many edges it stands for.
        words: what else there is to say: the number of a result that is not the first, "to the
            next" repetition, how many edges where the counts of the boxes do not tell it.
    """

    source: int
    from_leaf: bool
    target: int
    output: int
    count: int
    words: tuple[str, ...]

    @property
    def onward(self) -> bool:
        """Whether it leads from one repetition to the next."""
        return TO_THE_NEXT in self.words


@dataclass(frozen=True)
class StoreBox:
    """Memory that saved slots keep alive.

    Attributes:
        keepers: (position of a box, names of its slots) of everybody who keeps it.
        description: what it is, one entry a line, such as "result of 3 Relu (4, 5) float32".
        nbytes: its bytes; of several storages the sum.
        count: how many storages.
    """

    keepers: tuple[tuple[int, str], ...]
    description: tuple[str, ...]
    nbytes: int
    count: int

    @property
    def size(self) -> str:
        """Its bytes in words."""
        size = f"{self.nbytes:,} bytes"
        return size if self.count == 1 else f"{self.count:,} storages, {size}"
