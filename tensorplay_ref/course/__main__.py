"""The commands of the course: ``python -m tensorplay_ref.course COMMAND``."""

import argparse
import sys
from collections.abc import Sequence

try:
    from tensorplay_ref.course import exercises, grade, readme, refresh, slides
except ModuleNotFoundError as missing:
    if missing.name not in ("nbclient", "nbformat", "tqdm"):
        raise
    sys.exit(f"this needs {missing.name}; install it with: pip install -e '.[lab]'")

COMMANDS = {
    "refresh": (refresh, "run notebooks and store what they show"),
    "exercises": (exercises, "make the exercise notebooks from the worked ones"),
    "grade": (grade, "run the checks over a folder of submissions"),
    "slides": (slides, "make slides of notebooks, for a talk"),
    "readme": (readme, "make the badges, tables and picture of the README again"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tensorplay_ref.course", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, (module, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=f"{name}: {summary}")
        module.add_arguments(command)
        command.set_defaults(run=module.main)
    parsed = parser.parse_args(arguments)
    try:
        status: int = parsed.run(parsed)
    except FileNotFoundError as error:
        parser.exit(1, f"{error}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
