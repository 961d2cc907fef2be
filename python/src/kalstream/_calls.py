"""What can be asked of `kalstream serve`, apart from how it gets there: Client and AsyncClient share it."""

from __future__ import annotations

import json
import math
import os
import ssl
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload
from urllib.parse import quote, urlencode, urlsplit

from ._learner import Learner

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    from ._async_client import AsyncClient
    from ._client import Client

    P = ParamSpec("P")
else:
    P = TypeVar("P")

T = TypeVar("T")
Sample = Mapping[str, Any]
Answer = dict[str, Any]

PAGE = 100  # models at a time
LOCAL = "http://127.0.0.1:8080"
JSON = "application/json"  # types of content
LINES = "application/x-ndjson"
BYTES = "application/octet-stream"


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
    body: bytes | None = None
    content: str = ""  # type of the body
    accept: str = ""  # type of the answer
    read: Callable[[bytes], T] = json.loads

    @property
    def headers(self) -> dict[str, str]:
        named = {"Content-Type": self.content, "Accept": self.accept}
        return {name: value for name, value in named.items() if value}


def _nothing(body: bytes) -> None:
    return None


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
    known = {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in sample.items()}
    return json.dumps(known, default=_plain, allow_nan=False, separators=(",", ":"))


def _asked(path: str, **query: Any) -> str:
    asked = urlencode({name: value for name, value in query.items() if value is not None})
    return f"{path}?{asked}" if asked else path


def stream_path(stream: str, rest: str = "", **query: Any) -> str:
    return _asked(f"/api/v1/streams/{quote(stream, safe='')}{rest}", **query)


class call(Generic[P, T]):
    """A method that says what is asked. A Client gives the answer, an AsyncClient something to await."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._describe = describe

    @overload
    def __get__(self, client: Client, kind: Any) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, kind: Any) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, kind: Any) -> Callable[Concatenate[Any, P], Any]: ...
    def __get__(self, client: Any, kind: Any) -> Any:
        describe = self._describe

        @wraps(describe)
        def ask(client: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
            return client._call(describe(client, *args, **kwargs))

        return ask if client is None else MethodType(ask, client)


class Place:
    """Where a server is, and how to speak to it: its address, the token, the trust in its certificate."""

    def __init__(
        self,
        address: str,
        token: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
        trust: str | os.PathLike[str] | ssl.SSLContext | None = None,
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
            self.tls = trust if isinstance(trust, ssl.SSLContext) else ssl.create_default_context(cafile=trust)

    def __repr__(self) -> str:  # never the token
        return self.address

    def unreachable(self, error: Exception) -> ConnectionError:
        return ConnectionError(f"{self.address} does not answer: {error}. Is `kalstream serve` running there?")


class Calls:
    """What both clients can be asked; options are those of Place."""

    def __init__(self, address: str, *, timeout: float = 60.0, **options: Any) -> None:
        self._place = Place(address, **options)
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"kalstream.{type(self).__name__}({self._place!r})"

    # Streams

    @call
    def _streams(self, after: str | None) -> Call[dict[str, Any]]:
        return Call("GET", _asked("/api/v1/streams", after=after, limit=PAGE))

    @call
    def create(self, /, stream: str, **options: Any) -> Call[dict[str, Any]]:
        """Makes a stream, with options of `kalstream stream`: learner, target, key, interval, horizon, …"""
        return Call("PUT", stream_path(stream), json.dumps(options).encode(), JSON)

    @call
    def describe(self, stream: str) -> Call[dict[str, Any]]:
        """One stream, with its options, fields and scores."""
        return Call("GET", stream_path(stream))

    @call
    def delete(self, stream: str) -> Call[None]:
        """Deletes a stream with all it has learnt."""
        return Call("DELETE", stream_path(stream), read=_nothing)

    @call
    def reset(self, stream: str) -> Call[None]:
        """The stream begins again, with the same options and nothing learnt."""
        return Call("POST", stream_path(stream, "/reset"), b"", read=_nothing)

    # Samples

    @call
    def send(self, stream: str, sample: Sample) -> Call[Answer]:
        """One sample; it is predicted, answered, and learnt if it has its target."""
        return Call("POST", stream_path(stream, "/samples"), encode(sample).encode(), JSON)

    @call
    def label(self, stream: str, id: str | int, targets: Sample) -> Call[Answer]:
        """Targets of an earlier sample that had this id, {"y": 3.4}; with a key, its field as well."""
        sample = encode({**targets, "id": id})
        return Call("POST", stream_path(stream, "/samples"), sample.encode(), JSON)

    @call
    def send_batch(self, stream: str, samples: Iterable[Sample]) -> Call[list[Answer]]:
        """Samples in one request; their answers, in order."""
        body = "".join(encode(sample) + "\n" for sample in samples).encode()
        return Call("POST", stream_path(stream, "/samples"), body, LINES, read=_lines)

    @call
    def forecast(
        self,
        stream: str,
        horizon: int | None = None,
        *,
        key: str | None = None,
        future: Iterable[Sample] | None = None,
    ) -> Call[list[dict[str, Any]]]:
        """What comes next, with inputs known ahead in future; nothing is learnt."""
        body = b"" if future is None else f"[{','.join(encode(sample) for sample in future)}]".encode()
        path = stream_path(stream, "/forecast", horizon=horizon, key=key)
        return Call("POST", path, body, JSON if body else "", read=lambda answer: json.loads(answer)["forecast"])

    # Models

    @call
    def _models(self, /, stream: str, **query: Any) -> Call[dict[str, Any]]:
        return Call("GET", stream_path(stream, "/models", limit=PAGE, **query))

    @call
    def snapshot(self, stream: str, *, key: str | None = None) -> Call[bytes]:
        """All that a model has learnt; `kalstream.Learner.load` reads it."""
        return Call("GET", stream_path(stream, "/snapshot", key=key), read=bytes)

    @call
    def learner(self, stream: str, *, key: str | None = None) -> Call[Learner]:
        """A copy of a stream's learner, to go on with here."""
        return Call("GET", stream_path(stream, "/snapshot", key=key), read=Learner.load)

    @call
    def restore(self, stream: str, source: Learner | bytes, *, key: str | None = None) -> Call[None]:
        """The model begins from a learner or a snapshot."""
        body = source.to_bytes() if isinstance(source, Learner) else bytes(source)
        return Call("PUT", stream_path(stream, "/snapshot", key=key), body, BYTES, read=_nothing)

    @call
    def forget(self, stream: str, *, key: str | None = None) -> Call[None]:
        """Forgets the model of a key."""
        return Call("DELETE", stream_path(stream, "/models", key=key), read=_nothing)

    # Looking

    @call
    def history(
        self, stream: str, *, key: str | None = None, target: str | None = None, points: int = 2000
    ) -> Call[dict[str, Any]]:
        """The newest points in columns, with forecast, weights of experts and errors."""
        return Call("GET", stream_path(stream, "/history", key=key, target=target, points=points))

    @call
    def alarms(self, stream: str, *, key: str | None = None, limit: int = 100) -> Call[list[dict[str, Any]]]:
        """The last alarms, in the order in which they began; one without an end lasts."""
        path = stream_path(stream, "/alarms", key=key, limit=limit)
        return Call("GET", path, read=lambda answer: json.loads(answer)["alarms"])

    @call
    def judge_alarm(self, stream: str, real: bool, *, key: str | None = None) -> Call[Answer]:
        """Says whether the last alarm, or what was missed lately, was one; moves what is told from now on."""
        path = stream_path(stream, "/alarms", real="true" if real else "false", key=key)
        return Call("POST", path, b"")

    @call
    def metrics(self) -> Call[str]:
        """What Prometheus would read."""
        return Call("GET", "/metrics", read=bytes.decode)


def events(stream: str | None, key: str | None, target: str | None) -> Call[bytes]:
    """An answer that goes on; EventReader reads it."""
    path = _asked("/api/v1/events", stream=stream, key=key, target=target)
    return Call("GET", path, accept="text/event-stream")


def failure(status: int, body: bytes) -> ServerError:
    try:
        error = json.loads(body)["error"]
        return ServerError(status, error["code"], error["message"])
    except (ValueError, KeyError, TypeError):
        text = body.decode("utf-8", "replace").strip()
        return ServerError(status, "error", text or f"the server answered {status}")


class EventReader:
    """Bytes of a stream of events in, events out."""

    def __init__(self) -> None:
        self._rest = b""
        self._id: str | None = None

    def read(self, part: bytes) -> Iterator[Event]:
        *blocks, self._rest = (self._rest + part).replace(b"\r\n", b"\n").split(b"\n\n")
        for block in blocks:
            name, data = "message", []
            for line in block.decode("utf-8").split("\n"):
                what, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if what == "event":
                    name = value
                elif what == "data":
                    data.append(value)
                elif what == "id":
                    self._id = value
            if data:
                yield Event(name, json.loads("\n".join(data)), self._id)
