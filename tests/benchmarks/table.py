"""The measured rows as text, and as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from .measuring import REFERENCE, Row


def text(versions: Mapping[str, str], rows: Sequence[Row]) -> str:
    """Two Markdown tables: time as ratios, and bytes."""
    names = list(versions)
    heads = [f"{name} {version}" for name, version in versions.items()]
    lines = [
        "Time over that of hand-written NumPy (where there is none, over the reference): median of",
        "the ratios within a round, and in brackets their quartiles for the reference.",
        "",
        *_table(
            ["", "base", *heads], [[row.what, _base(row), *_ratios(row, names)] for row in rows]
        ),
    ]
    counted = [row for row in rows if row.memory]
    if counted:
        able = [name for name in names if any(name in row.memory for row in counted)]
        lines += [
            "",
            "Bytes kept between forward and backward / at the peak:",
            "",
            *_table(["", *able], [[row.what, *_bytes(row, able)] for row in counted]),
        ]
    return "\n".join(lines)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(heads, *rows, strict=True)]
    lines = [heads, ["-" * width for width in widths], *rows]
    return [
        "| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]


def _base(row: Row) -> str:
    times = sorted(row.samples[row.base])
    return f"{'numpy' if row.base == 'numpy' else 'ref'} {_time(times[len(times) // 2])}"


def _ratios(row: Row, names: Sequence[str]) -> list[str]:
    cells = []
    for name in names:
        if name not in row.samples:
            cells.append("-")
            continue
        middle, low, high = row.ratio(name)
        spread = f" [{low:.2f}-{high:.2f}]" if name == REFERENCE != row.base else ""
        cells.append(f"{middle:.2f}{spread}")
    return cells


def _bytes(row: Row, names: Sequence[str]) -> list[str]:
    return [
        "{} / {}".format(*(_size(row.memory[name][key]) for key in ("kept", "peak")))
        if name in row.memory
        else "-"
        for name in names
    ]


def _time(seconds: float) -> str:
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _size(count: float) -> str:
    for factor, unit in ((1e6, "MB"), (1e3, "kB")):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} B"


def check_plot(path: str) -> None:
    """Whether a picture can be saved there, asked before hours of measuring.

    Errors: ImportError without matplotlib; ValueError for a format that it does not write; OSError
    when the file cannot be written.
    """
    from matplotlib.figure import Figure

    kind = Path(path).suffix.removeprefix(".") or "png"
    known = Figure().canvas.get_supported_filetypes()
    if kind not in known:
        raise ValueError(f"no picture of format {kind!r} can be made, only {', '.join(known)}")
    place = Path(path)
    there = place.exists()
    with place.open("ab"):
        pass
    if not there:
        place.unlink()


def plot(path: str, versions: Mapping[str, str], rows: Sequence[Row]) -> None:
    """The ratios as bars, saved to a file; needs matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1 + 0.9 * len(rows)), layout="constrained")
    axes = figure.subplots()
    height = 0.8 / len(versions)
    for number, name in enumerate(versions):
        able = [(place, row) for place, row in enumerate(rows) if name in row.samples]
        axes.barh(
            [place + number * height for place, _ in able],
            [row.ratio(name)[0] for _, row in able],
            height,
            label=f"{name} {versions[name]}",
        )
    axes.set_yticks([place + 0.4 for place in range(len(rows))], [row.what for row in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("time over hand-written NumPy (else the reference), logarithmic")
    # Outside of the axes, where it hides no bar.
    figure.legend(loc="outside upper center", ncols=3)
    figure.savefig(path)
