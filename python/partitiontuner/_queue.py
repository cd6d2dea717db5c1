"""Request queues: requests to a session that come when they like, a bounded number of which wait."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from . import _core
from ._session import Session


class Request(Future[dict[str, Any]]):
    """A request's answer to come: the outputs by name, or the error that ended it."""

    #: What the request took; None until it has succeeded.
    report: _core.RequestReport | None = None
    _token: _core.CancelToken | None = None

    def cancel(self) -> bool:
        """Ends the request: before it begins, or between two steps of its run."""
        cancelled = super().cancel()
        if cancelled and self._token is not None:
            self._token.cancel()
        return cancelled

    def _tell(
        self, outputs: dict[str, Any] | None, report: _core.RequestReport | None, error: BaseException | None
    ) -> None:
        if not self.set_running_or_notify_cancel():
            return
        if error is not None or outputs is None:
            self.set_exception(error)
        else:
            self.report = report
            self.set_result(outputs)


def _close(core: _core.RequestQueue) -> None:
    """Closing waits for the queue's threads, and so happens on another one where an answer is being told."""
    if _core.tells_answer():
        threading.Thread(target=core.close, name="partitiontuner-close").start()
    else:
        core.close()


class RequestQueue:
    """Requests to a session, which begin in the order in which they came.

    in_flight: runs at once, no more than the session's max_runs; 0: one for each core of the plan, as far as the session
    allows. waiting: requests that may wait beside them; one more is refused.

    The queue is closed at the end of a `with` block, when nothing refers to it any more, or when the interpreter ends.
    """

    def __init__(self, session: Session, *, in_flight: int = 0, waiting: int = 64) -> None:
        self.session = session
        self._core = _core.make_queue(session._core, in_flight, waiting)
        self._finalizer = weakref.finalize(self, _close, self._core)

    def submit(self, inputs: Mapping[str, Any], *, deadline: float | None = None) -> Request:
        """The outputs to come, as `Session.run` gives them.

        inputs: as for `Session.run`; they are copied, so that arrays may be written to at once.
        deadline: seconds from now, after which the request ends with RunFailedError, whether or not it has begun.

        Raises QueueFullError at once where as many wait as may, and QueueClosedError where the queue was closed.
        """
        request = Request()
        request._token = self._core.submit(dict(inputs), deadline, request._tell)
        return request

    def drain(self) -> None:
        """Returns when nothing waits and nothing is in flight. Not from within a callback of a request."""
        if _core.tells_answer():
            raise RuntimeError("a callback of a request cannot wait for its queue: it would wait for itself")
        self._core.drain()

    def close(self) -> None:
        """Accepts nothing more; what waits ends with QueueClosedError. Returns when what is in flight is over; from
        within a callback of a request it returns at once."""
        self._finalizer()

    @property
    def counts(self) -> _core.RequestCounts:
        """What became of the requests so far."""
        return self._core.counts

    def __enter__(self) -> RequestQueue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.drain()
        self.close()
