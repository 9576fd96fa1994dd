"""The command ``python -m tensorplay_ref.conformance``."""

from __future__ import annotations

import argparse
import difflib
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence

from . import (
    RECORDED_VERSIONS,
    REFERENCE,
    TOPICS,
    CannotImport,
    Isolated,
    Statement,
    Verdict,
    judge,
    recorded_version,
    report,
    suite,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the statements and print the table; 1 when anything is unexpected."""
    options = _parser().parse_args(arguments)
    for name in options.statement or ():
        if name not in suite():
            print(_unknown(name), file=sys.stderr)
            return 2
    chosen = {
        name: each
        for name, each in suite().items()
        if (not options.topic or each.topic in options.topic)
        and (not options.statement or name in options.statement)
    }
    if not chosen:
        print("no statement has this name within the chosen topics", file=sys.stderr)
        return 2
    results: dict[str, dict[str, Verdict]] = {}
    for implementation in dict.fromkeys([REFERENCE, *options.against, *options.module]):
        try:
            with Isolated(implementation, options.limit) as isolated:
                title = f"{implementation} {isolated.version}".strip()
                results[title] = _run(isolated, chosen)
        except CannotImport as error:
            print(error, file=sys.stderr)
            return 2
    print(report(chosen, results, markdown=options.markdown))
    unexpected = sum(
        verdict.judgement == "FAILS"
        for verdicts in results.values()
        for verdict in verdicts.values()
    )
    return 1 if unexpected else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tensorplay_ref.conformance",
        description="Check statements about saved tensors and autograd on implementations of them.",
    )
    parser.add_argument(
        "--against",
        action="append",
        default=[],
        choices=sorted(RECORDED_VERSIONS),
        help="also run on this implementation, whose known differences are recorded",
    )
    parser.add_argument(
        "--module",
        action="append",
        default=[],
        metavar="NAME",
        help="also run on the importable module NAME, about which nothing is recorded",
    )
    parser.add_argument("--topic", action="append", choices=TOPICS, help="only this topic")
    parser.add_argument("--statement", action="append", metavar="NAME", help="only this statement")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds that one statement may take"
    )
    return parser


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, suite(), cutoff=0.5)
    return f"no statement is called {name!r}" + (f"; near: {', '.join(near)}" if near else "")


def _run(isolated: Isolated, chosen: Mapping[str, Statement]) -> dict[str, Verdict]:
    """The verdict on each chosen statement."""
    implementation = isolated.module_name
    if not recorded_version(implementation, isolated.version):
        print(
            f"{implementation} {isolated.version} is installed, but the differences were "
            f"recorded on {RECORDED_VERSIONS[implementation]}",
            file=sys.stderr,
        )
    return {
        each.name: judge(each, implementation, isolated.run(each))
        for each in _with_progress(chosen, implementation)
    }


def _with_progress(chosen: Mapping[str, Statement], title: str) -> Iterator[Statement]:
    """The statements one by one; on a terminal a line that tells which, and how many are left."""
    shown = sys.stderr.isatty()
    for number, each in enumerate(chosen.values(), start=1):
        if shown:
            _overwrite(f"{title}: {number} of {len(chosen)}, {each.name}")
        yield each
    if shown:
        _overwrite("")


def _overwrite(line: str) -> None:
    """Write a line over the one before it, cut to the terminal's width so that it stays one."""
    width = shutil.get_terminal_size().columns - 1
    print(f"\r\x1b[K{line[:width]}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
