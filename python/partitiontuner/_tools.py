"""The three programs that the package brings, as console scripts."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent


def _become(program: str) -> NoReturn:
    path = str(ROOT / "bin" / program)
    os.execv(path, [path, *sys.argv[1:]])


def profile() -> NoReturn:
    _become("pt-profile")


def plan() -> NoReturn:
    _become("pt-plan")


def run() -> NoReturn:
    _become("pt-run")
