"""The child process that runs statements on one implementation.

``python -m tensorplay_ref.conformance.worker MODULE`` first writes one line of JSON with the
version of the implementation, or with the error of its import. Then it reads the name of a
statement from each line of its input and writes one line of JSON with the outcome. What the
implementation itself prints goes nowhere, so that it cannot disturb the answers.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import sys

from . import suite
from .api import Api
from .running import run


def main(module_name: str) -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)

    def answer(content: dict[str, object]) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    try:
        api = Api(module_name)
    except SystemExit as error:
        answer({"error": f"it ends the program when it is imported (SystemExit: {error})"})
        return
    except BaseException as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        answer({"error": f"{type(error).__name__}: {error}", "missing": missing})
        return
    answer({"version": api.version})
    known = suite()
    gc.collect()
    for line in sys.stdin:
        # A framework has very many objects that stay; no collection has to look at them again.
        gc.freeze()
        answer(dataclasses.asdict(run(known[line.strip()], api)))


if __name__ == "__main__":
    main(sys.argv[1])
