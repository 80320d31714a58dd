"""Logs as JSON lines, with request ids and without any document text."""

from __future__ import annotations

import logging
import traceback
from datetime import UTC, datetime
from typing import TextIO

import msgspec

LOGGER = "keywright.serving"


class JsonLines(logging.Formatter):
    """A record as one line: time, level, message, and the fields given as `extra={"fields": ...}`.

    Of an exception only the type and the code locations are logged: its message may quote text.
    """

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line["exception"] = type(error).__name__
            line["at"] = [
                f"{frame.filename}:{frame.lineno} {frame.name}"
                for frame in traceback.extract_tb(error.__traceback__)
            ]
        return msgspec.json.encode(line).decode()


def configure(stream: TextIO) -> None:
    """Write the service's log, and the warnings of its libraries, to a stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    levels = {
        LOGGER: logging.INFO,
        "uvicorn": logging.WARNING,
        "asyncio": logging.ERROR,  # such as running out of files for connections
        "python_multipart": logging.CRITICAL,  # it logs every bad form, which the answer reports
    }
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
