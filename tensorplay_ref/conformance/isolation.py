"""Running statements in a child process that may crash or hang without harm."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from types import TracebackType
from typing import Any, Self

from .running import Outcome
from .statement import Statement


class CannotImport(Exception):
    """The implementation cannot be imported; the message says why.

    ``missing`` is the name of the module that is not installed, None for other reasons.
    """

    def __init__(self, message: str, missing: str | None = None) -> None:
        super().__init__(message)
        self.missing = missing


class Isolated:
    """An implementation in a child process, started again whenever it dies, hangs or is unclean.

    ``limit`` is the time in seconds that one statement, or the import, may take. A context
    manager: leaving it ends the child.
    """

    def __init__(self, module_name: str, limit: float = 60.0) -> None:
        self.module_name = module_name
        self.limit = limit
        self._child: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.version = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def run(self, statement: Statement) -> Outcome:
        """Run one statement in the child."""
        if self._child is None:
            self._start()
        child = self._child
        assert child is not None and child.stdin is not None
        try:
            child.stdin.write(statement.name + "\n")
            child.stdin.flush()
            line = self._lines.get(timeout=self.limit)
        except queue.Empty:
            self.close()
            return Outcome("hung", f"no answer within {self.limit:g} s", self.limit, clean=False)
        except OSError:
            line = None
        if line is None:
            code = child.wait()
            self.close()
            return Outcome("died", f"the process died with status {code}", clean=False)
        outcome = Outcome(**json.loads(line))
        if not outcome.clean:
            self.close()
        return outcome

    def close(self) -> None:
        """End the child."""
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass

    def _start(self) -> str:
        """Start the child and return the version that it reports."""
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
        child = subprocess.Popen(
            [sys.executable, "-m", "tensorplay_ref.conformance.worker", self.module_name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=environment,
        )
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_forward, args=(child.stdout, lines), daemon=True).start()
        self._child, self._lines = child, lines
        try:
            first = lines.get(timeout=self.limit)
        except queue.Empty:
            greeting = {"error": f"the import took longer than {self.limit:g} s"}
        else:
            greeting = json.loads(first) if first else _ended(child)
        if "error" in greeting:
            self.close()
            said = f"{self.module_name} cannot be imported: {greeting['error']}"
            raise CannotImport(said, greeting.get("missing"))
        return str(greeting["version"])


def _ended(child: subprocess.Popen[str]) -> dict[str, str]:
    return {"error": f"its process ended meanwhile, with status {child.wait()}"}


def _forward(stream: Any, lines: queue.Queue[str | None]) -> None:
    """Move lines from a child's output to a queue; None marks the end."""
    try:
        for line in stream:
            lines.put(line)
    except ValueError:
        # The stream was closed because the child is being ended.
        pass
    lines.put(None)
