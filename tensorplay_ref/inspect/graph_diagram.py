"""graph(y): the operations of a graph, their edges, and what each of them keeps for backward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from ..arguments import hook_name
from ..autograd.node import AccumulateGrad, Node
from ..autograd.saved import SavedTensor
from .boxes import TO_THE_NEXT, Arrow, Box, LeafBox, StoreBox
from .fold import Part, Repeat, Rest, fold, length_of, representatives, unfolded
from .graph_text import graph_text
from .kept import Kept, kept_by
from .mermaid import mermaid
from .saved_report import described, result_label, role_of
from .tables import listing, plural, tensor_text
from .walk import Names, Roots, Walk, operation_name, result_of, slot_names

# An input further back than this counts as far away, whether or not it is always the same.
NEAR = 64


@dataclass(frozen=True)
class GraphDiagram:
    """What `graph` found; words and numbers only, so it keeps no tensor alive.

    JupyterLab draws it; elsewhere its repr is a list of the operations. `parts` says which boxes
    repeat, as `fold` found them.
    """

    boxes: tuple[Box, ...]
    leaves: tuple[LeafBox, ...]
    arrows: tuple[Arrow, ...]
    stores: tuple[StoreBox, ...]
    parts: tuple[Part, ...]

    @property
    def operations(self) -> int:
        """How many operations the graph has."""
        return sum(box.count for box in self.boxes)

    @property
    def nbytes(self) -> int:
        """Bytes that the saved slots keep alive, every storage counted once."""
        return sum(store.nbytes for store in self.stores)

    def summary(self) -> str:
        """One line: operations, leaves and bytes."""
        leaves = sum(leaf.count for leaf in self.leaves)
        line = f"{plural(self.operations, 'operation')}, {plural(leaves, 'leaf', 'leaves')}; "
        storages = sum(store.count for store in self.stores)
        kept = f"{plural(storages, 'storage')} of together {plural(self.nbytes, 'byte')} saved"
        return line + (kept if storages else "nothing saved")

    def mermaid(self) -> str:
        """The diagram as Mermaid's flowchart text."""
        return mermaid(self)

    def __repr__(self) -> str:
        return f"{graph_text(self)}\n{self.summary()}" if self.boxes else self.summary()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/vnd.mermaid": self.mermaid(), "text/plain": repr(self)}


def graph(y: Roots, names: Names | None = None, fold_above: int = 24) -> GraphDiagram:
    """The graph of `y`: operations with their results, edges, leaves, and saved tensors with bytes.

    Calls no hook and changes nothing. Inputs without a gradient are no part of a graph, so they are
    seen only where they are saved.

    Args:
        y: a tensor, an edge or a node of a graph, or several of them.
        names: what to call leaves and saved tensors, such as `{"x": x, "w": w}`.
        fold_above: with more operations than this, pieces that repeat are drawn once with their
            count, and if that is not enough the middle is summed up in one box.
    """
    if not isinstance(fold_above, int) or fold_above < 1:
        raise ValueError(f"graph: fold_above must be a whole number from 1, found {fold_above!r}")
    walk = Walk(y, names)
    if len(walk.operations) <= fold_above:
        parts = unfolded(len(walk.operations))
    else:
        titles = [operation_name(node) for node in walk.operations]
        parts = fold(_keys(walk), 2 * fold_above, titles)
    standing_for = representatives(parts)
    return GraphDiagram(
        _boxes(walk, parts, standing_for),
        *_leaves_and_arrows(walk, parts, standing_for),
        _stores(walk, parts, standing_for),
        parts,
    )


def _keys(walk: Walk) -> list[Hashable]:
    """What makes two operations equal: name, result, slots, and how far back the inputs are."""
    keys: list[Hashable] = []
    for position, node in enumerate(walk.operations):
        inputs: list[Hashable] = []
        for below, output in node.next_functions:
            if below is None:
                inputs.append(None)
            elif type(below) is AccumulateGrad:
                inputs.append((below.result_shape, below.result_dtype.str))
            else:
                inputs.append((min(position + 1 - walk.number(below), NEAR), output))
        slots = tuple(
            (described(slot)[0], slot._is_output, slot.freed)
            if isinstance(slot, SavedTensor)
            else None
            for slot in node.saved_slots
        )
        shape, dtype = result_of(node)
        keys.append((operation_name(node), shape, str(dtype), tuple(inputs), slots))
    return keys


def _boxes(walk: Walk, parts: tuple[Part, ...], standing_for: dict[int, int]) -> tuple[Box, ...]:
    counts = Counter(standing_for.values())
    freed: Counter[int] = Counter()
    for position, node in enumerate(walk.operations):
        freed[standing_for[position]] += sum(
            isinstance(slot, SavedTensor) and slot.freed for slot in node.saved_slots
        )
    roots = {standing_for[walk.number(node) - 1] for node, _ in walk.roots if _is_operation(node)}
    rests = {part.start: part for part in parts if isinstance(part, Rest)}
    boxes = []
    for position in sorted(counts):
        node = walk.operations[position]
        title, names, result = f"{position + 1} {operation_name(node)}", "", _results(node)
        if position in rests:
            row = walk.operations[position : position + rests[position].length]
            title = f"{position + 1} to {position + len(row)}"
            names = listing(sorted(Counter(operation_name(one) for one in row).items()))
            result = ""
        asked = position in roots
        count = counts[position]
        boxes.append(Box(position, title, names, result, count, freed[position], asked))
    return tuple(boxes)


def _is_operation(node: Node) -> bool:
    return type(node) is not AccumulateGrad


def _results(node: Node) -> str:
    numbers = range(len(getattr(node, "result_forms", (None,))))
    return ", ".join(tensor_text(*result_of(node, number)) for number in numbers)


def _leaves_and_arrows(
    walk: Walk, parts: tuple[Part, ...], standing_for: dict[int, int]
) -> tuple[tuple[LeafBox, ...], tuple[Arrow, ...]]:
    boxes_counts = Counter(standing_for.values())
    around = {
        position: part
        for part in parts
        if isinstance(part, (Repeat, Rest))
        for position in range(part.start, part.start + length_of(part))
    }
    counts: Counter[tuple[int, int, int, bool, bool]] = Counter()
    first_place: dict[tuple[int, int, int, bool, bool], int] = {}
    users: dict[Node, list[tuple[int, int]]] = {leaf: [] for leaf in walk.leaves}
    for position, node in enumerate(walk.operations):
        target = standing_for[position]
        for place, (below, output) in enumerate(node.next_functions):
            if below is None:
                continue
            if type(below) is AccumulateGrad:
                users[below].append((target, place))
                continue
            origin = walk.number(below) - 1
            source = standing_for[origin]
            part = around.get(position)
            inside = part is not None and part is around.get(origin)
            if inside and isinstance(part, Rest):
                continue
            onward = inside and target - source != position - origin
            key = (source, target, output, inside, onward)
            counts[key] += 1
            first_place.setdefault(key, place)
    ordered: list[tuple[int, int, Arrow]] = []
    for key, count in counts.items():
        source, target, output, inside, onward = key
        words: tuple[str, ...] = (f"output {output}",) if output else ()
        if onward:
            words += (TO_THE_NEXT,)
        elif not inside:
            words += _how_often(count, boxes_counts[target])
        arrow = Arrow(source, False, target, output, count, words)
        ordered.append((target, first_place[key], arrow))
    boxes = []
    for position, group in enumerate(_grouped_leaves(walk, users)):
        first = group[0]
        title = walk.leaf_name(first)
        if len(group) > 1:
            title = f"{plural(len(group), 'leaf', 'leaves')} from {title}"
        tensor = tensor_text(first.result_shape, first.result_dtype)
        boxes.append(LeafBox(title, tensor, len(group)))
        uses = Counter(target for leaf in group for target, _ in users[leaf])
        for target, count in uses.items():
            often = _how_often(count, boxes_counts[target]) if count != len(group) else ()
            place = min(place for leaf in group for user, place in users[leaf] if user == target)
            ordered.append((target, place, Arrow(position, True, target, 0, count, often)))
    ordered.sort(key=lambda entry: entry[:2])
    return tuple(boxes), tuple(arrow for _, _, arrow in ordered)


def _how_often(count: int, repetitions: int) -> tuple[str, ...]:
    if count == 1:
        return ()
    return ("each time",) if count == repetitions else (f"{count:,} edges",)


def _grouped_leaves(
    walk: Walk, users: dict[Node, list[tuple[int, int]]]
) -> list[list[AccumulateGrad]]:
    """Leaves of one shape and dtype that serve as the same input of the same folded operations."""
    groups: dict[Hashable, list[AccumulateGrad]] = {}
    for leaf in walk.leaves:
        alike = (leaf.result_shape, leaf.result_dtype.str, tuple(sorted(set(users[leaf]))))
        groups.setdefault(alike, []).append(leaf)
    return list(groups.values())


def _stores(
    walk: Walk, parts: tuple[Part, ...], standing_for: dict[int, int]
) -> tuple[StoreBox, ...]:
    """Storages by who keeps them; those kept by the same slots of folded boxes are one."""
    rests = {part.start for part in parts if isinstance(part, Rest)}
    keepers: dict[int, dict[int, dict[str, None]]] = {}
    pieces: dict[int, tuple[Kept, tuple[str, ...]]] = {}
    for position, node in enumerate(walk.operations):
        box = standing_for[position]
        for slot, name in zip(node.saved_slots, slot_names(node), strict=True):
            if not isinstance(slot, SavedTensor) or slot.freed:
                continue
            # A hook may keep the values elsewhere: then the slot itself stands for them.
            for kept in kept_by(slot) or [Kept(slot, 0, "")]:
                key = id(kept.memory)
                shown = "several slots" if box in rests else name
                keepers.setdefault(key, {}).setdefault(box, {})[shown] = None
                pieces.setdefault(key, (kept, _description(walk, node, slot)))
    grouped: dict[tuple[tuple[int, str], ...], list[tuple[Kept, tuple[str, ...]]]] = {}
    for key, piece in pieces.items():
        by = tuple((box, ", ".join(names)) for box, names in sorted(keepers[key].items()))
        grouped.setdefault(by, []).append(piece)
    stores = []
    for by, group in grouped.items():
        nbytes = sum(kept.nbytes for kept, _ in group)
        description = group[0][1]
        if len(group) > 1:
            what, *more = description
            description = () if by[0][0] in rests else (f"such as {what}", *more)
        stores.append(StoreBox(by, description, nbytes, len(group)))
    return tuple(stores)


def _description(walk: Walk, node: Node, slot: SavedTensor) -> tuple[str, ...]:
    shape, dtype, _ = described(slot)
    role, name = role_of(walk, node, slot)
    if role == "result":
        role, name = "input", name or f"from {result_label(walk, node, slot._output_nr)}"
    what = name.replace("from ", "result of ", 1) if role == "input" else name or role
    lines = (what, tensor_text(shape, dtype))
    if slot._unpack_hook is None:
        return lines
    return (*lines, f"unpacked by {hook_name(slot._unpack_hook)}: {type(slot._value).__name__}")
