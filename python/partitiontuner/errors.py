"""What the library reports, as exceptions: one class for each exit code of the programs."""

from __future__ import annotations


class Error(Exception):
    """Anything that input, files or hardware caused. `exit_code` is what the programs end with for it."""

    exit_code = 1
    #: Stable name for programs, "run.deadline"; may be empty, as may all that follow.
    id: str
    #: One thing to try.
    hint: str
    file: str
    #: Operator and source of the node concerned.
    node: str
    device: str

    def __init__(
        self, message: str, *, id: str = "", hint: str = "", file: str = "", node: str = "", device: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.id, self.hint, self.file, self.node, self.device = id, hint, file, node, device

    def __str__(self) -> str:
        where = (f" ({self.node})" if self.node else "") + (f" in {self.file}" if self.file else "")
        return self.message + where + (f"; {self.hint}" if self.hint else "")


class InternalError(Error):
    """A fault of the library itself."""


class UsageError(Error, ValueError):
    """A value or combination that makes no sense, or dims that are missing."""

    exit_code = 2


class InvalidInputError(Error, ValueError):
    """An unreadable or invalid file, an array that does not fit, an illegal plan."""

    exit_code = 3


class UnsupportedError(Error):
    """An operator, type or shape that no device supports."""

    exit_code = 4


class DeviceUnusableError(Error):
    """A device or library that was named cannot be used."""

    exit_code = 5


class PartialError(Error):
    """Measurements that are needed are missing."""

    exit_code = 6


class StaleError(Error):
    """A plan or profile of another model, machine or version."""

    exit_code = 7


class MismatchError(Error):
    """Results differ from what was expected."""

    exit_code = 8


class InfeasibleError(Error):
    """No plan keeps the constraints."""

    exit_code = 9


class AssertionFailedError(Error):
    """An assertion on a result failed."""

    exit_code = 10


class OutOfMemoryError(Error, MemoryError):
    """No memory, on the host or a device, or more than a limit allows."""

    exit_code = 11


class RunFailedError(Error, RuntimeError):
    """A deadline, a cancelled run, a lost device, a kernel that failed."""

    exit_code = 12


class QueueFullError(RunFailedError):
    """A request was refused: as many wait as may. Nothing of it was run; send fewer, or send it again later."""


class QueueClosedError(RunFailedError):
    """The queue was closed before the request began."""


class Interrupted(Error):
    """Stopped by the user before there was a result."""

    exit_code = 130


_KINDS: dict[int, type[Error]] = {
    kind.exit_code: kind
    for kind in (
        InternalError,
        UsageError,
        InvalidInputError,
        UnsupportedError,
        DeviceUnusableError,
        PartialError,
        StaleError,
        MismatchError,
        InfeasibleError,
        AssertionFailedError,
        OutOfMemoryError,
        RunFailedError,
        Interrupted,
    )
}

_KINDS_BY_ID: dict[str, type[Error]] = {"queue.full": QueueFullError, "queue.closed": QueueClosedError}


def make_error(code: int, id: str, message: str, hint: str, file: str, node: str, device: str) -> Error:
    """The exception for an error of the library; called by the extension module."""
    kind = _KINDS_BY_ID.get(id) or _KINDS.get(code, InternalError)
    return kind(message, id=id, hint=hint, file=file, node=node, device=device)
