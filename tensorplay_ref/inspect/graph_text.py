"""A diagram as text: leaves first, then one line for each operation, in the order of their run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from .fold import One, Part, Rest
from .tables import NOTHING, text_table

if TYPE_CHECKING:
    from .graph_diagram import GraphDiagram

HEADERS = ("operation", "result", "from", "saves")


def graph_text(diagram: GraphDiagram) -> str:
    """An aligned table; what repeats is indented below a line that says how often."""
    boxes = {box.position: box for box in diagram.boxes}
    sources: dict[int, list[str]] = {position: [] for position in boxes}
    for arrow in diagram.arrows:
        name = (diagram.leaves if arrow.from_leaf else boxes)[arrow.source].title
        words = ", ".join(arrow.words)
        sources[arrow.target].append(f"{name} ({words})" if words else name)
    saves: dict[int, list[str]] = {position: [] for position in boxes}
    for store in diagram.stores:
        first, _ = store.keepers[0]
        for position, slots in store.keepers:
            parts_of_line = [*store.description, store.size]
            if position != first:
                parts_of_line[-1] = f"kept by {boxes[first].title}"
            saves[position].append(f"{slots}: {', '.join(parts_of_line)}")
    rows = [(leaf.title, leaf.tensor, "leaf, requires grad", NOTHING) for leaf in diagram.leaves]
    for indent, part in _lines(diagram.parts, ""):
        if isinstance(part, str):
            rows.append((indent + part, "", "", ""))
            continue
        box = boxes[part.start if isinstance(part, Rest) else part.position]
        kept = list(saves[box.position])
        if box.freed:
            kept.append(f"{box.freed:,} freed")
        columns = (
            [indent + box.title],
            [box.names or box.result or NOTHING],
            sources[box.position] or [NOTHING],
            kept or [NOTHING],
        )
        rows.extend(zip_longest(*columns, fillvalue=""))
    return text_table(HEADERS, rows)


def _lines(parts: Sequence[Part], indent: str) -> Iterator[tuple[str, One | Rest | str]]:
    for part in parts:
        if isinstance(part, (One, Rest)):
            yield indent, part
        else:
            yield indent, f"{part.times}:"
            yield from _lines(part.parts, indent + "  ")
