"""A diagram as the text of a Mermaid flowchart, which JupyterLab draws by itself.

Boxes are operations, rounded boxes leaves, cylinders the memory that is kept for backward; a dotted
line leads from a cylinder to the operation that will read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .boxes import Box
from .fold import One, Part, Rest

if TYPE_CHECKING:
    from .graph_diagram import GraphDiagram

# Light fills that stay apart for the colour-blind, with dark text on all of them.
STYLES = (
    "classDef operation fill:#ffffff,stroke:#000000,color:#000000",
    "classDef asked fill:#ffffff,stroke:#000000,stroke-width:3px,color:#000000",
    "classDef leaf fill:#cfe8f6,stroke:#0072B2,color:#000000",
    "classDef kept fill:#fbe3b0,stroke:#E69F00,color:#000000",
)


def mermaid(diagram: GraphDiagram) -> str:
    """The flowchart, with names made from positions, so equal graphs have equal texts."""
    lines = ["flowchart TD"]
    for position, leaf in enumerate(diagram.leaves):
        label = _label(leaf.title, leaf.tensor, "leaf, requires grad")
        lines.append(f"    leaf{position}([{label}]):::leaf")
    lines.extend(_grouped({box.position: box for box in diagram.boxes}, diagram.parts, "    "))
    for number, store in enumerate(diagram.stores):
        lines.append(f"    kept{number}[({_label(*store.description, store.size)})]:::kept")
    for arrow in diagram.arrows:
        source = f"{'leaf' if arrow.from_leaf else 'op'}{arrow.source}"
        words = ", ".join(arrow.words)
        line = "-.->" if arrow.onward else "-->"
        lines.append(
            f"    {source} {line}{f'|{_quoted(words)}|' if words else ''} op{arrow.target}"
        )
    for number, store in enumerate(diagram.stores):
        for position, slots in store.keepers:
            lines.append(f"    kept{number} -.-|{_quoted(slots)}| op{position}")
    lines.extend(f"    {style}" for style in STYLES)
    return "\n".join(lines)


def _grouped(boxes: dict[int, Box], parts: Sequence[Part], indent: str) -> Iterator[str]:
    """The operations, those of a repeat inside a frame that says how often."""
    for part in parts:
        if isinstance(part, One):
            yield indent + _operation(boxes[part.position])
        elif isinstance(part, Rest):
            yield indent + _operation(boxes[part.start])
        else:
            yield f"{indent}subgraph repeat{part.start}_{part.length}[{_quoted(part.times)}]"
            yield from _grouped(boxes, part.parts, indent + "    ")
            yield f"{indent}end"


def _operation(box: Box) -> str:
    freed = f"{box.freed:,} saved freed" if box.freed else ""
    style = "asked" if box.is_root else "operation"
    return f"op{box.position}[{_label(box.title, box.names, box.result, freed)}]:::{style}"


def _label(*lines: str) -> str:
    return _quoted(*(line for line in lines if line))


def _quoted(*lines: str) -> str:
    # Mermaid writes a character that could be taken for its own syntax as #code;.
    text = "<br/>".join("".join(_escaped(c) for c in line) for line in lines)
    return f'"{text}"'


def _escaped(character: str) -> str:
    harmless = character.isalnum() or character in " ,.:()_-+*/="
    return character if harmless else f"#{ord(character)};"
