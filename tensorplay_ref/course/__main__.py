"""The commands of the course: ``python -m tensorplay_ref.course COMMAND``."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from tensorplay_ref.course import command_line as declared

# Each is a module of this name, imported when it is to be run: `--help` needs nothing installed.
COMMANDS = {
    "refresh": (declared.refresh, "run notebooks and store what they show"),
    "exercises": (declared.exercises, "make the exercise notebooks from the worked ones"),
    "grade": (declared.grade, "run the checks over a folder of submissions"),
    "slides": (declared.slides, "make slides of notebooks, for a talk"),
    "guard": (declared.guard, "say what in stored outputs would differ on another machine"),
    "readme": (declared.readme, "make the tables, picture and badges of the README again"),
}
# What the extra `lab` brings, by the names that are imported.
_IN_LAB = ("IPython", "ipykernel", "matplotlib", "nbclient", "nbconvert", "nbformat", "tqdm")


def how_to_install() -> str:
    """The words that bring the extra `lab`: in a checkout, or where a wheel is installed."""
    checkout = (Path(__file__).resolve().parents[2] / "pyproject.toml").exists()
    return 'pip install -e ".[lab]"' if checkout else 'pip install "tensorplay-ref[lab]"'


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tensorplay_ref.course", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for name, (declare, summary) in COMMANDS.items():
        declare(commands.add_parser(name, help=summary, description=f"{name}: {summary}"))
    parsed = parser.parse_args(arguments)
    try:
        module = importlib.import_module(f"tensorplay_ref.course.{parsed.command}")
        status: int = module.main(parsed)
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] not in _IN_LAB:
            raise
        parser.exit(1, f"this needs {missing.name}; install it with: {how_to_install()}\n")
    except OSError as error:
        parser.exit(1, f"{error}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
