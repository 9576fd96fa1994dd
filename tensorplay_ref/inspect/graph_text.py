"""A diagram as text: leaves first, then one line for each operation, in the order of their run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from .boxes import Arrow, Box, LeafBox, StoreBox
from .fold import One, Part, Rest
from .tables import NOTHING, text_table

HEADERS = ("operation", "result", "from", "saves")


def graph_text(
    boxes: Sequence[Box],
    leaves: Sequence[LeafBox],
    arrows: Sequence[Arrow],
    stores: Sequence[StoreBox],
    parts: Sequence[Part],
) -> str:
    """An aligned table; what repeats is indented below a line that says how often."""
    titles = {box.position: box.title for box in boxes}
    leaf_titles = {leaf.position: leaf.title for leaf in leaves}
    sources: dict[int, list[str]] = {position: [] for position in titles}
    for arrow in arrows:
        name = (leaf_titles if arrow.from_leaf else titles)[arrow.source]
        words = ", ".join(arrow.words)
        sources[arrow.target].append(f"{name} ({words})" if words else name)
    saves: dict[int, list[str]] = {position: [] for position in titles}
    for store in stores:
        first, _ = store.keepers[0]
        for position, slots in store.keepers:
            parts_of_line = [*store.description, store.size]
            if position != first:
                parts_of_line[-1] = f"kept by {titles[first]}"
            saves[position].append(f"{slots}: {', '.join(parts_of_line)}")
    rows = [(leaf.title, leaf.tensor, "leaf, requires grad", NOTHING) for leaf in leaves]
    by_position = {box.position: box for box in boxes}
    for indent, part in _lines(parts, ""):
        if isinstance(part, str):
            rows.append((indent + part, "", "", ""))
            continue
        box = by_position[part.start if isinstance(part, Rest) else part.position]
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
