"""Tables as aligned text and as HTML, and how the reports write numbers, shapes and names."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

NOTHING = "-"


def text_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns as wide as their widest entry, numbers to the right, no blanks at ends of lines."""
    listed = [tuple(row) for row in rows]
    right = _numeric_columns(headers, listed)
    widths = [max(map(len, column)) for column in zip(headers, *listed, strict=True)]
    lines = []
    for row in (tuple(headers), *listed):
        cells = zip(row, widths, right, strict=True)
        lines.append(
            "  ".join(
                cell.rjust(width) if to_right else cell.ljust(width)
                for cell, width, to_right in cells
            ).rstrip()
        )
    return "\n".join(lines)


def html_table(headers: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """The same as an HTML table, escaped; JupyterLab gives it its own look."""
    listed = [tuple(row) for row in rows]
    right = _numeric_columns(headers, listed)
    lines = ["<table>"]
    if caption:
        lines.append(
            f'<caption style="caption-side: top; text-align: left">{html.escape(caption)}</caption>'
        )
    lines.append(f"<thead>{_html_row('th', headers, right)}</thead>")
    lines.append("<tbody>")
    lines.extend(_html_row("td", row, right) for row in listed)
    lines.append("</tbody></table>")
    return "\n".join(lines)


def _html_row(tag: str, cells: Sequence[str], right: Sequence[bool]) -> str:
    parts = [
        f'<{tag} style="text-align: {"right" if to_right else "left"}">{html.escape(cell)}</{tag}>'
        for cell, to_right in zip(cells, right, strict=True)
    ]
    return f"<tr>{''.join(parts)}</tr>"


def _numeric_columns(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    """Whether each column holds numbers only, apart from what is missing."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(headers)
    return [
        any(cell != NOTHING for cell in column) and all(_is_number(cell) for cell in column)
        for column in columns
    ]


def _is_number(cell: str) -> bool:
    if cell in ("", NOTHING):
        return True
    try:
        float(cell.replace(",", "").removesuffix("%"))
    except ValueError:
        return False
    return True


def plural(count: int, noun: str, many: str = "") -> str:
    """A counted noun, as in "2 slots"; `many` when adding an s is not enough."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def listing(counts: Iterable[tuple[str, int]]) -> str:
    """Names with how often each occurs, as in "Add × 3, Mul"."""
    return ", ".join(name if count == 1 else f"{name} × {count:,}" for name, count in counts)


def tensor_text(shape: tuple[int, ...] | None, dtype: Any) -> str:
    """A shape and a dtype, such as "(3, 4) float32"."""
    return NOTHING if shape is None else f"{shape} {dtype}"
