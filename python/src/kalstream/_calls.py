"""What can be asked of `kalstream serve`, apart from how it gets there: Client and AsyncClient share it."""

from __future__ import annotations

import json
import math
import os
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from ._learner import Learner

T = TypeVar("T")
Sample = Mapping[str, Any]
Answer = dict[str, Any]

JSON = "application/json"
LINES = "application/x-ndjson"


class ServerError(Exception):
    """The server refused a request: `status` is HTTP's, `code` a short name, the message says what to do."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code

    def __str__(self) -> str:
        return f"{super().__str__()} ({self.status} {self.code})"


@dataclass(frozen=True)
class Event:
    """One thing that happened: `name` is point, label, status, streams, warning or skipped; docs/serve.md."""

    name: str
    data: dict[str, Any]
    id: str | None = None


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and how to read its answer."""

    method: str
    path: str
    read: Callable[[bytes], T]
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def _nothing(body: bytes) -> None:
    return None


def _object(body: bytes) -> dict[str, Any]:
    value = json.loads(body)
    assert isinstance(value, dict)
    return value


def _lines(body: bytes) -> list[Answer]:
    return [json.loads(line) for line in body.split(b"\n") if line]


def _plain(value: Any) -> Any:
    """Times as text, NumPy's numbers as Python's."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a sample cannot hold {value!r} of type {type(value).__name__}")


def encode(sample: Sample) -> str:
    """A sample as one line of JSON; numbers that are not (NaN) are missing."""
    known = {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in sample.items()
    }
    return json.dumps(known, default=_plain, allow_nan=False, separators=(",", ":"))


def stream_path(stream: str, rest: str = "", **query: Any) -> str:
    asked = urlencode({name: value for name, value in query.items() if value is not None})
    return f"/api/v1/streams/{quote(stream, safe='')}{rest}{'?' + asked if asked else ''}"


def streams() -> Call[list[dict[str, Any]]]:
    return Call("GET", "/api/v1/streams", lambda body: _object(body)["streams"])


def create(stream: str, options: Mapping[str, Any]) -> Call[dict[str, Any]]:
    return Call("PUT", stream_path(stream), _object, json.dumps(options).encode(), {"Content-Type": JSON})


def describe(stream: str) -> Call[dict[str, Any]]:
    return Call("GET", stream_path(stream), _object)


def delete(stream: str) -> Call[None]:
    return Call("DELETE", stream_path(stream), _nothing)


def reset(stream: str) -> Call[None]:
    return Call("POST", stream_path(stream, "/reset"), _nothing, b"")


def send(stream: str, sample: Sample) -> Call[Answer]:
    return Call(
        "POST", stream_path(stream, "/samples"), _object, encode(sample).encode(), {"Content-Type": JSON}
    )


def send_batch(stream: str, samples: Iterable[Sample]) -> Call[list[Answer]]:
    body = "".join(encode(sample) + "\n" for sample in samples).encode()
    return Call("POST", stream_path(stream, "/samples"), _lines, body, {"Content-Type": LINES})


def forecast(
    stream: str, horizon: int | None, key: str | None, future: Iterable[Sample] | None
) -> Call[list[dict[str, Any]]]:
    body = b"" if future is None else f"[{','.join(encode(sample) for sample in future)}]".encode()
    headers = {"Content-Type": JSON} if body else {}
    path = stream_path(stream, "/forecast", horizon=horizon, key=key)
    return Call("POST", path, lambda answer: _object(answer)["forecast"], body, headers)


def snapshot(stream: str, key: str | None) -> Call[bytes]:
    return Call("GET", stream_path(stream, "/snapshot", key=key), bytes)


def restore(stream: str, source: Learner | bytes, key: str | None) -> Call[None]:
    body = source.to_bytes() if isinstance(source, Learner) else bytes(source)
    headers = {"Content-Type": "application/octet-stream"}
    return Call("PUT", stream_path(stream, "/snapshot", key=key), _nothing, body, headers)


def forget(stream: str, key: str | None) -> Call[None]:
    return Call("DELETE", stream_path(stream, "/models", key=key), _nothing)


def models(
    stream: str, search: str | None, sort: str, order: str, offset: int, limit: int
) -> Call[dict[str, Any]]:
    query = {"search": search, "sort": sort, "order": order, "offset": offset, "limit": limit}
    return Call("GET", stream_path(stream, "/models", **query), _object)


def history(stream: str, key: str | None, target: str | None, points: int) -> Call[dict[str, Any]]:
    return Call("GET", stream_path(stream, "/history", key=key, target=target, points=points), _object)


def metrics() -> Call[str]:
    return Call("GET", "/metrics", bytes.decode)


def events_path(stream: str | None, key: str | None, target: str | None) -> str:
    query = urlencode(
        {k: v for k, v in {"stream": stream, "key": key, "target": target}.items() if v is not None}
    )
    return f"/api/v1/events{'?' + query if query else ''}"


def batches(samples: Iterable[Sample], size: int) -> Iterator[list[Sample]]:
    batch: list[Sample] = []
    for sample in samples:
        batch.append(sample)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def failure(status: int, body: bytes) -> ServerError:
    try:
        error = json.loads(body)["error"]
        return ServerError(status, error["code"], error["message"])
    except (ValueError, KeyError, TypeError):
        text = body.decode("utf-8", "replace").strip()
        return ServerError(status, "error", text or f"the server answered {status}")


class EventReader:
    """Lines of a stream of events in, events out."""

    def __init__(self) -> None:
        self._name = "message"
        self._data: list[str] = []
        self._id: str | None = None

    def line(self, line: bytes) -> Event | None:
        text = line.decode("utf-8").rstrip("\r\n")
        if text == "":
            name, data = self._name, "\n".join(self._data)
            self._name, self._data = "message", []
            return Event(name, json.loads(data), self._id) if data else None
        what, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if what == "event":
            self._name = value
        elif what == "data":
            self._data.append(value)
        elif what == "id":
            self._id = value
        return None


class Place:
    """Where a server is, and how to speak to it: its address, the token, the trust in its certificate."""

    def __init__(
        self,
        address: str,
        token: str | None,
        token_file: str | os.PathLike[str] | None,
        trust: str | os.PathLike[str] | ssl.SSLContext | None,
    ) -> None:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{address!r} is no address of a server; http://127.0.0.1:8080 would be one")
        self.secure = parts.scheme == "https"
        self.host = parts.hostname
        self.port = parts.port or (443 if self.secure else 80)
        self.prefix = parts.path.rstrip("/")
        self.address = f"{parts.scheme}://{parts.netloc}{self.prefix}"
        if token is not None and token_file is not None:
            raise ValueError("give a token or a token_file, not both")
        if token_file is not None:
            with open(token_file, encoding="utf-8") as file:
                token = file.read().strip()
        self.headers = {"User-Agent": "kalstream-python"}
        if token is not None:
            self.headers["Authorization"] = f"Bearer {token}"
        self.tls: ssl.SSLContext | None = None
        if self.secure:
            self.tls = (
                trust if isinstance(trust, ssl.SSLContext) else ssl.create_default_context(cafile=trust)
            )

    def __repr__(self) -> str:  # never the token
        return self.address

    def unreachable(self, error: Exception) -> ConnectionError:
        return ConnectionError(
            f"{self.address} does not answer: {error}. Is `kalstream serve` running there?"
        )
