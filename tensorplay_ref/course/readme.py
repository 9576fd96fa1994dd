"""The parts of the README that are made: badges, picture, course and conformance table.

Each stands between two comments that name it. All but the last are made from what is in the
checkout. The table is measured on PyTorch and TensorPlay, so it is made again only where both
are installed in the recorded versions; elsewhere it stays as it is.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

from tensorplay_ref.conformance import RECORDED_VERSIONS, recorded_version
from tensorplay_ref.course import address, cover, notebook_file
from tensorplay_ref.course.contents import contents

PICTURE = Path("notebooks", "images", "three_ways.png")
_NAMES = {"tensorplay_ref": "tensorplay_ref", "torch": "PyTorch", "tensorplay": "TensorPlay"}


def part(text: str, name: str) -> str:
    """What stands in the README between the comments of a part; ValueError when none does."""
    match = _pattern(name).search(text)
    if match is None:
        raise ValueError(f"the README has no part {name!r}")
    return match[2].strip()


def with_part(text: str, name: str, content: str) -> str:
    """The text of the README with another content of one part."""
    part(text, name)
    return _pattern(name).sub(lambda match: f"{match[1]}\n{content.strip()}\n{match[3]}", text)


def course_table() -> str:
    """The worked notebooks with their minutes and exercises, and the minutes of all.

    The number of exercises leads to the notebook with the stubs, the last column to that on Colab,
    as soon as the repository has an address.
    """
    course = contents(notebook_file.notebooks_folder())
    lines = ["| notebook | you build | minutes | exercises |", "|---|---|---|---|"]
    end = " |"
    if not address.is_placeholder():
        lines, end = [f"{lines[0]} |", f"{lines[1]}---|"], " | |"
    for entry in course.entries:
        link = f"[{entry.number} · {entry.title}](notebooks/{entry.file})"
        stubs = f"notebooks/exercises/{entry.file}"
        exercises = f"[{entry.exercises}]({stubs})"
        if not address.is_placeholder():
            exercises += f" | [Colab]({address.on_colab(stubs)})"
        lines.append(f"| {link} | {entry.builds} | {entry.minutes} | {exercises} |")
    number = sum(entry.exercises for entry in course.entries)
    lines.append(f"| all {len(course.entries)} | | {course.minutes} | {number}{end}")
    return "\n".join(lines)


def picture_line(alt: str) -> str:
    """The Markdown that shows the picture."""
    return f"![{alt}]({PICTURE.as_posix()})"


def conformance_table() -> str | None:
    """The counts by topic, measured now; None where an implementation is not as recorded."""
    for name in RECORDED_VERSIONS:
        try:
            if not recorded_version(name, importlib.metadata.version(name)):
                return None
        except importlib.metadata.PackageNotFoundError:
            return None
    against = [word for name in RECORDED_VERSIONS for word in ("--against", name)]
    command = [sys.executable, "-m", "tensorplay_ref.conformance", "--markdown", *against]
    # A status of 1 is a verdict that the table itself shows as FAILS, and the tests refuse.
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    table = done.stdout.split("\n\n")[0]
    for name, shown in _NAMES.items():
        table = re.sub(rf"\| {name} (\d[.\d]*)\S*", rf"| {shown} \1", table, count=1)
    return re.sub(r" {2,}", " ", re.sub(r"-{2,}", "---", table))


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- made: {name} -->)\n(.*?)(<!-- end -->)", re.S)


def main(arguments: argparse.Namespace) -> int:
    """Make the parts again; with --check, 1 when the course or the picture's numbers are stale."""
    root = notebook_file.notebooks_folder().parent
    path = root / "README.md"
    text = path.read_text(encoding="utf-8")
    picture = cover.cover()
    fresh = with_part(text, "badges", address.badges())
    fresh = with_part(fresh, "course", course_table())
    fresh = with_part(fresh, "picture", picture_line(picture.alt))
    if arguments.check:
        print("README.md:", "fresh" if fresh == text else "stale")
        return int(fresh != text)
    table = conformance_table()
    if table is None:
        print("README.md: the conformance table stays, PyTorch or TensorPlay is not as recorded")
    else:
        fresh = with_part(fresh, "conformance", table)
    notebook_file.write_text(path, fresh)
    (root / PICTURE).parent.mkdir(exist_ok=True)
    (root / PICTURE).write_bytes(picture.png)
    print("README.md:", "as it was" if fresh == text else "written")
    return 0
