"""The command ``python -m tensorplay_ref.conformance``."""

from __future__ import annotations

import argparse
import difflib
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence

from . import (
    RECORDED_VERSIONS,
    REFERENCE,
    TOPICS,
    CannotImport,
    Isolated,
    Judgement,
    Statement,
    Verdict,
    judge,
    recorded_version,
    report,
    suite,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the statements and print the table; the exit status, as the help tells it."""
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
    cannot, disagreeing = [], []
    for implementation in dict.fromkeys([REFERENCE, *options.against, *options.module]):
        try:
            with Isolated(implementation, options.limit) as isolated:
                title = f"{implementation} {isolated.version}".strip()
                results[title] = _run(isolated, chosen)
        except CannotImport as error:
            cannot.append(_advice(implementation, error))
            continue
        if implementation in options.module and not _any(results[title], "agreed"):
            disagreeing.append(f"{title}: no statement agreed")
    print(report(chosen, results, markdown=options.markdown))
    for line in (*cannot, *disagreeing):
        print(line, file=sys.stderr)
    if disagreeing or any(_any(verdicts, "FAILS") for verdicts in results.values()):
        return 1
    return 2 if cannot else 0


def _any(verdicts: Mapping[str, Verdict], judgement: Judgement) -> bool:
    return any(each.judgement == judgement for each in verdicts.values())


def _advice(implementation: str, error: CannotImport) -> str:
    """Why it could not be imported, and how to install what is known."""
    known = implementation in RECORDED_VERSIONS and error.missing == implementation
    return f"{error}; install it with: pip install {implementation}" if known else str(error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tensorplay_ref.conformance",
        description="Check statements about saved tensors and autograd on implementations of them.",
        epilog="Exit status: 0 when all is as recorded; 1 when a statement fails, or when a module "
        "agrees with none; 2 when an implementation cannot be imported (the others are run), or "
        "when an argument cannot be used.",
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
        type=_module_name,
        metavar="NAME",
        help="also run on the importable module NAME, about which nothing is recorded",
    )
    parser.add_argument(
        "--topic",
        action="append",
        choices=TOPICS,
        metavar="TOPIC",
        help=f"only this topic: {', '.join(TOPICS)}",
    )
    parser.add_argument("--statement", action="append", metavar="NAME", help="only this statement")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument(
        "--limit", type=_seconds, default=60.0, help="seconds that one statement may take (60)"
    )
    return parser


def _seconds(text: str) -> float:
    value = float(text)
    # A thread cannot be waited for longer.
    if not 0 < value <= threading.TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, found {text}")
    return value


def _module_name(text: str) -> str:
    parts = text.split(".")
    if text.endswith(".py") or not all(part.isidentifier() for part in parts):
        raise argparse.ArgumentTypeError(
            f"expected the name of a module as in `import your.module`, not a file, found {text!r}"
        )
    return text


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
