"""A client of `kalstream serve` for asyncio."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from types import TracebackType
from typing import Any, TypeVar

from . import _calls
from ._calls import Answer, Event, EventReader, Place, Sample
from ._learner import Learner

T = TypeVar("T")

# Besides what the network says: an answer cut short, or none that is HTTP.
_broken = (OSError, EOFError, ValueError, asyncio.TimeoutError)


class _Connection:
    """One connection, that speaks HTTP/1.1."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, place: Place) -> None:
        self.reader = reader
        self.writer = writer
        self.place = place
        self.reusable = True

    @classmethod
    async def open(cls, place: Place) -> "_Connection":
        reader, writer = await asyncio.open_connection(place.host, place.port, ssl=place.tls, limit=1 << 20)
        return cls(reader, writer, place)

    @property
    def usable(self) -> bool:
        return self.reusable and not self.reader.at_eof() and not self.writer.is_closing()

    async def ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, str]]:
        host = f"[{self.place.host}]" if ":" in self.place.host else self.place.host
        lines = {"Host": f"{host}:{self.place.port}", **self.place.headers, **headers}
        if body is not None:
            lines["Content-Length"] = str(len(body))
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.writer.write(
            f"{method} {self.place.prefix}{path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + (body or b"")
        )
        await self.writer.drain()
        version, status, *_ = (await self._line()).split(" ", 2)
        answered: dict[str, str] = {}
        while line := await self._line():
            name, _, value = line.partition(":")
            answered[name.strip().lower()] = value.strip()
        self.reusable = version == "HTTP/1.1" and answered.get("connection", "").lower() != "close"
        return int(status), answered

    async def _line(self) -> str:
        line = await self.reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError("the connection ended within an answer")
        return line.decode("latin-1").rstrip("\r\n")

    async def parts(self, status: int, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        """The body, in the pieces it comes in."""
        if status == 204:
            return
        if headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int((await self._line()).split(";")[0], 16):
                yield await self.reader.readexactly(size)
                await self._line()
            while await self._line():
                pass
        elif "content-length" in headers:
            yield await self.reader.readexactly(int(headers["content-length"]))
        else:
            self.reusable = False
            while part := await self.reader.read(65536):
                yield part

    def close(self) -> None:
        self.writer.close()


class AsyncClient:
    """`kalstream.Client` for asyncio: the same calls, awaited. Calls at the same time have a connection
    each, at most `connections`; events have their own.

    >>> async with kalstream.AsyncClient() as client:                 # doctest: +SKIP
    ...     answer = await client.send("load", {"temperature": 21.5, "y": 3.1})
    ...     async for event in client.events("load"):
    ...         print(event.name, event.data)
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8080",
        *,
        token: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
        trust: str | os.PathLike[str] | ssl.SSLContext | None = None,
        timeout: float = 60.0,
        connections: int = 8,
    ) -> None:
        self._place = Place(address, token, token_file, trust)
        self._timeout = timeout
        self._idle: list[_Connection] = []
        self._allowed = asyncio.Semaphore(connections)

    # Streams

    async def streams(self) -> list[dict[str, Any]]:
        return await self._call(_calls.streams())

    async def create(self, stream: str, **options: Any) -> dict[str, Any]:
        return await self._call(_calls.create(stream, options))

    async def describe(self, stream: str) -> dict[str, Any]:
        return await self._call(_calls.describe(stream))

    async def delete(self, stream: str) -> None:
        await self._call(_calls.delete(stream))

    async def reset(self, stream: str) -> None:
        await self._call(_calls.reset(stream))

    # Samples

    async def send(self, stream: str, sample: Sample) -> Answer:
        return await self._call(_calls.send(stream, sample))

    async def send_batch(self, stream: str, samples: Iterable[Sample]) -> list[Answer]:
        return await self._call(_calls.send_batch(stream, samples))

    async def send_all(
        self, stream: str, samples: Iterable[Sample] | AsyncIterable[Sample], *, batch: int = 1000
    ) -> AsyncIterator[Answer]:
        """Any number of samples, so many a request, one request after the other."""
        if isinstance(samples, AsyncIterable):
            some: list[Sample] = []
            async for sample in samples:
                some.append(sample)
                if len(some) == batch:
                    for answer in await self.send_batch(stream, some):
                        yield answer
                    some = []
            for answer in await self.send_batch(stream, some) if some else []:
                yield answer
        else:
            for part in _calls.batches(samples, batch):
                for answer in await self.send_batch(stream, part):
                    yield answer

    async def label(self, stream: str, id: str | int, targets: Sample) -> Answer:
        return await self.send(stream, {**targets, "id": id})

    async def forecast(
        self,
        stream: str,
        horizon: int | None = None,
        *,
        key: str | None = None,
        future: Iterable[Sample] | None = None,
    ) -> list[dict[str, Any]]:
        return await self._call(_calls.forecast(stream, horizon, key, future))

    # Models

    async def models(
        self, stream: str, *, search: str | None = None, sort: str = "key", order: str = "asc"
    ) -> AsyncIterator[dict[str, Any]]:
        offset = 0
        while True:
            page = await self._call(_calls.models(stream, search, sort, order, offset, 100))
            for model in page["models"]:
                yield model
            offset += len(page["models"])
            if not page["models"] or offset >= page["total"]:
                return

    async def snapshot(self, stream: str, *, key: str | None = None) -> bytes:
        return await self._call(_calls.snapshot(stream, key))

    async def learner(self, stream: str, *, key: str | None = None) -> Learner:
        return Learner.load(await self.snapshot(stream, key=key))

    async def restore(self, stream: str, source: Learner | bytes, *, key: str | None = None) -> None:
        await self._call(_calls.restore(stream, source, key))

    async def forget(self, stream: str, *, key: str | None = None) -> None:
        await self._call(_calls.forget(stream, key))

    # Looking

    async def history(
        self, stream: str, *, key: str | None = None, target: str | None = None, points: int = 2000
    ) -> dict[str, Any]:
        return await self._call(_calls.history(stream, key, target, points))

    async def events(
        self, stream: str | None = None, *, key: str | None = None, target: str | None = None
    ) -> AsyncIterator[Event]:
        """What happens, as it happens; ends when the server does."""
        connection: _Connection | None = None
        try:
            connection = await _Connection.open(self._place)
            path = _calls.events_path(stream, key, target)
            status, headers = await connection.ask("GET", path, None, {"Accept": "text/event-stream"})
            if status != 200:
                raise _calls.failure(
                    status, b"".join([part async for part in connection.parts(status, headers)])
                )
            reader = EventReader()
            rest = b""
            async for part in connection.parts(status, headers):
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    event = reader.line(line)
                    if event is not None:
                        yield event
        except _broken as error:
            raise self._place.unreachable(error) from error
        finally:
            if connection is not None:
                connection.close()

    async def metrics(self) -> str:
        return await self._call(_calls.metrics())

    # Connections

    async def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"kalstream.AsyncClient({self._place!r})"

    async def _call(self, call: _calls.Call[T]) -> T:
        async with self._allowed:
            connection: _Connection | None = None
            while self._idle and connection is None:
                candidate = self._idle.pop()
                if candidate.usable:
                    connection = candidate
                else:
                    candidate.close()
            try:
                status, body = await asyncio.wait_for(self._exchange(connection, call), self._timeout)
            except _broken as error:
                raise self._place.unreachable(error) from error
        if status >= 300:
            raise _calls.failure(status, body)
        return call.read(body)

    async def _exchange(self, connection: _Connection | None, call: _calls.Call[T]) -> tuple[int, bytes]:
        if connection is None:
            connection = await _Connection.open(self._place)
        try:
            status, headers = await connection.ask(call.method, call.path, call.body, call.headers)
            body = b"".join([part async for part in connection.parts(status, headers)])
        except BaseException:  # also when cancelled: what is left in it belongs to nobody
            connection.close()
            raise
        if connection.usable:
            self._idle.append(connection)
        else:
            connection.close()
        return status, body
