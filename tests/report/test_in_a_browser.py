"""The page in a real browser: no error in its console, charts drawn, tables that sort."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from invented_run import make_run
from thalweg.report import write_report

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=5000",
]


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")
def test_page_draws_and_sorts_without_a_console_error(tmp_path: Path) -> None:
    page = write_report(make_run(tmp_path / "run"))
    click = "<script>document.querySelectorAll('.table th')[1].click();</script></body>"
    page.write_text(page.read_text().replace("</body>", click))
    assert CHROMIUM is not None
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in done.stderr
    assert done.stdout.count('class="main-svg"') >= 4
    body = done.stdout.split("Events (paper, table 2)", 1)[1].split("</tbody>", 1)[0]
    assert 'aria-sort="ascending"' in body
    assert body.index("here") < body.index("paper"), "507 steps stand before 10108"
