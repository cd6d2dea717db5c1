"""Plans: which step runs where, in which order, in which memory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from html import escape
from typing import Any

from . import _core


class Plan(Mapping[str, Any]):
    """A plan, and the content of its file as a mapping: plan["steps"], plan["report"]["busy"].

    `docs/plan-format.md` of the project says what stands where. Made by `Model.plan` or `Plan.load`.
    """

    def __init__(self, core: _core.Plan) -> None:
        self._core = core

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        return cls(_core.read_plan(os.fspath(path)))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        return cls(_core.parse_plan(text))

    def to_json(self) -> str:
        """The text of the plan's file, byte for byte."""
        return self._core.json

    def save(self, path: str | os.PathLike[str]) -> None:
        """Replaces the file whole: it holds the old plan or the new one, whatever happens meanwhile."""
        self._core.save(os.fspath(path))

    @property
    def planner(self) -> str:
        return self._core.planner

    @property
    def makespan(self) -> float:
        """What one run is predicted to take, in seconds."""
        return self._core.makespan_ns * 1e-9

    @property
    def lower_bound(self) -> float:
        """No plan takes less, by the same costs; seconds."""
        return self._core.lower_bound_ns * 1e-9

    @property
    def complete(self) -> bool:
        """Every cost was measured, none estimated."""
        return self._core.complete

    def to_svg(self) -> str | None:
        """Its timeline; None for a plan from a file, which does not hold the model."""
        return self._core.svg()

    @cached_property
    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self._core.json)
        return content

    def __getitem__(self, key: str) -> Any:
        return self._content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __repr__(self) -> str:
        estimated = "" if self.complete else ", partly estimated"
        return f"<Plan by {self.planner}: {self._core.steps} steps, {self.makespan * 1e3:.3g} ms{estimated}>"

    def _repr_svg_(self) -> str | None:
        return self.to_svg()

    def _repr_html_(self) -> str:
        busy = ", ".join(f"{unit} {share:.0%}" for unit, share in self["report"]["busy"].items())
        return f"<p>{escape(repr(self)[1:-1])}; busy: {escape(busy)}</p>{self.to_svg() or ''}"
