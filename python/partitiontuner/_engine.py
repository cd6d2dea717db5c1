"""The machine that models are loaded for."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from . import _core


class Engine:
    """The units of this machine, the libraries that serve them and the database of what was measured on them.

    One a process is enough: without naming one, models share `Engine.default()`.

    db: the database's file; "none" for no database, "" for the one that the programs use.
    threads: cores that may be used; 0 for all.
    libraries, devices, plugins: these alone; empty for all that there are.
    platforms: files that describe simulated devices, or a whole machine to plan for.
    """

    _default: Engine | None = None
    _lock = threading.Lock()

    def __init__(
        self,
        *,
        db: str = "",
        threads: int = 0,
        libraries: Sequence[str] = (),
        devices: Sequence[str] = (),
        platforms: Sequence[str] = (),
        plugins: Sequence[str] = (),
    ) -> None:
        self._core = _core.make_engine(
            db, threads, list(libraries), list(devices), list(platforms), list(plugins)
        )

    @classmethod
    def default(cls) -> Engine:
        """The engine of the whole process, made when it is first asked for."""
        with cls._lock:
            if cls._default is None:
                cls._default = cls()
            return cls._default

    @property
    def units(self) -> list[str]:
        """What steps of plans may run on, "cpu[0-1]" for two cores together."""
        return self._core.units
