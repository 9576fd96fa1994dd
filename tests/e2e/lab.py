"""A JupyterLab server of its own, and a headless browser that works in it like a reader."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 180
# Every cell stays in the page, no news cover it, and completions may come late on a busy machine.
SETTINGS: dict[str, dict[str, Any]] = {
    "@jupyterlab/completer-extension/manager": {"providerTimeout": 60_000},
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
}
# Nothing waits or runs, and that for a second: a cell after an error has no number either.
FINISHED = """() => {
    const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputArea-prompt')]
        .map(prompt => prompt.textContent.trim());
    const idle = /\\| Idle/.test(document.querySelector('#jp-main-statusbar').innerText);
    const done = idle && prompts[0] !== '[ ]:' && !prompts.includes('[*]:');
    window.finishedSince = done ? (window.finishedSince ?? Date.now()) : undefined;
    return done && Date.now() - window.finishedSince > 1000;
}"""


def browser_path() -> str | None:
    """The browser that the environment variable CHROMIUM names, else the system's."""
    if chosen := os.environ.get("CHROMIUM"):
        return chosen
    return next((found for name in CHROMIUM if (found := shutil.which(name))), None)


@dataclass
class Lab:
    """A server over a folder, and a browser; `errors` are those of the pages so far."""

    folder: Path
    address: str
    token: str
    browser: Any
    errors: list[str] = field(default_factory=list)

    def open(self, path: Path) -> Notebook:
        """Open a notebook below the folder and wait for its kernel."""
        page = self.browser.new_page(viewport={"width": 1300, "height": 2000})
        page.set_default_timeout(SECONDS * 1000)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        name = path.relative_to(self.folder).as_posix()
        page.goto(f"{self.address}/lab/tree/{name}?token={self.token}&reset")
        page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell").first.wait_for()
        # Until the status bar says so there is no kernel, and the menu does nothing.
        page.locator("#jp-main-statusbar", has_text=re.compile(r"\| Idle")).wait_for()
        return Notebook(page)


@dataclass
class Notebook:
    """An open notebook."""

    page: Any

    def outputs(self) -> int:
        return int(self.page.locator(".jp-OutputArea-output").count())

    def run_all(self) -> None:
        for bar, label in (("MenuBar", "Run"), ("Menu", "Run All Cells")):
            item = self.page.locator(f".lm-{bar}-itemLabel", has_text=re.compile(f"^{label}$"))
            item.click()
        self.wait()

    def wait(self) -> None:
        self.page.evaluate("window.finishedSince = undefined")
        self.page.wait_for_function(FINISHED)

    def cell(self, words: str) -> Any:
        """The code cell whose source has these words."""
        source = self.page.locator(".jp-InputArea-editor", has_text=words)
        return self.page.locator(".jp-CodeCell", has=source).first

    def run(self, cell: Any) -> str:
        """Run one cell; the last text below it."""
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        self.wait()
        shown = cell.locator(".jp-OutputArea-output")
        return str(shown.last.inner_text()) if shown.count() else ""

    def save(self) -> None:
        self.page.keyboard.press("Control+s")
        self.page.locator(".jp-mod-dirty").first.wait_for(state="detached")

    def close(self) -> None:
        self.page.close()


@contextmanager
def lab(folder: Path, home: Path) -> Iterator[Lab]:
    """Start a server over a folder, with settings and files of its own in home, and a browser."""
    from playwright.sync_api import sync_playwright

    for name, settings in SETTINGS.items():
        file = home / "settings" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings), encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    token, address = secrets.token_hex(16), f"http://127.0.0.1:{port}"
    with (
        (home / "lab.log").open("w", encoding="utf-8") as log,
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "jupyterlab",
                "--no-browser",
                "--allow-root",
                "--ip=127.0.0.1",
                f"--port={port}",
                "--ServerApp.port_retries=0",
                f"--IdentityProvider.token={token}",
                f"--ServerApp.root_dir={folder}",
                "--LabApp.extension_manager=readonly",
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=_environment(home),
        ) as server,
    ):
        try:
            _wait_for(server, f"{address}/api?token={token}", home / "lab.log")
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=browser_path(),
                    args=["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"],
                )
                yield Lab(folder, address, token, browser)
                browser.close()
        finally:
            server.terminate()


def _environment(home: Path) -> dict[str, str]:
    root = Path(__file__).resolve().parents[2]
    places = {
        "HOME": home,
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "PYTHONPATH": root,
    }
    return dict(os.environ) | {name: str(place) for name, place in places.items()}


def _wait_for(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=2).close()
        except OSError:
            time.sleep(0.25)
        else:
            return
    raise RuntimeError(f"JupyterLab does not answer:\n{log.read_text(encoding='utf-8')}")
