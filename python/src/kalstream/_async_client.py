"""A client of `kalstream serve` for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from . import _calls
from ._calls import LOCAL, PAGE, Answer, Call, Calls, Event, EventReader, Place, Sample

T = TypeVar("T")

# Besides what the network says: an answer cut short, or none that is HTTP.
_broken = (OSError, EOFError, ValueError, asyncio.TimeoutError)


@dataclass
class _Connection:
    """One connection, that speaks HTTP/1.1."""

    place: Place
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    reusable: bool = True

    @classmethod
    async def open(cls, place: Place) -> "_Connection":
        return cls(place, *await asyncio.open_connection(place.host, place.port, ssl=place.tls, limit=1 << 20))

    @property
    def usable(self) -> bool:
        return self.reusable and not self.reader.at_eof() and not self.writer.is_closing()

    async def ask(self, call: Call[Any]) -> tuple[int, AsyncIterator[bytes]]:
        """The status of the answer, and its body in the pieces it comes in."""
        host = f"[{self.place.host}]" if ":" in self.place.host else self.place.host
        lines = {"Host": f"{host}:{self.place.port}", **self.place.headers, **call.headers}
        if call.body is not None:
            lines["Content-Length"] = str(len(call.body))
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        request = f"{call.method} {self.place.prefix}{call.path} HTTP/1.1\r\n{head}\r\n"
        self.writer.write(request.encode("latin-1") + (call.body or b""))
        await self.writer.drain()
        version, status, *_ = (await self._line()).split(" ", 2)
        answered: dict[str, str] = {}
        while line := await self._line():
            name, _, value = line.partition(":")
            answered[name.strip().lower()] = value.strip()
        self.reusable = version == "HTTP/1.1" and answered.get("connection", "").lower() != "close"
        return int(status), self._parts(int(status), answered)

    async def _line(self) -> str:
        line = await self.reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError("the connection ended within an answer")
        return line.decode("latin-1").rstrip("\r\n")

    async def _parts(self, status: int, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
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


class AsyncClient(Calls):
    """`kalstream.Client` for asyncio: the same calls, awaited. Calls at the same time have a connection
    each, at most `connections`; events have their own.

    >>> async with kalstream.AsyncClient() as client:                 # doctest: +SKIP
    ...     answer = await client.send("load", {"temperature": 21.5, "y": 3.1})
    ...     async for event in client.events("load"):
    ...         print(event.name, event.data)
    """

    def __init__(self, address: str = LOCAL, *, connections: int = 8, **options: Any) -> None:
        super().__init__(address, **options)
        self._idle: list[_Connection] = []
        self._allowed = asyncio.Semaphore(connections)

    async def send_all(
        self, stream: str, samples: Iterable[Sample] | AsyncIterable[Sample], *, batch: int = 1000
    ) -> AsyncIterator[Answer]:
        """Any number of samples, so many a request, one request after the other."""
        some: list[Sample] = []
        async for sample in _each(samples):
            some.append(sample)
            if len(some) == batch:
                for answer in await self.send_batch(stream, some):
                    yield answer
                some = []
        for answer in await self.send_batch(stream, some) if some else []:
            yield answer

    async def streams(self) -> list[dict[str, Any]]:
        page = await self._streams(None)
        found = page["streams"]
        while page["next"] is not None:
            page = await self._streams(page["next"])
            found += page["streams"]
        return found

    async def models(
        self, stream: str, *, search: str | None = None, sort: str = "key", order: str = "asc"
    ) -> AsyncIterator[dict[str, Any]]:
        for offset in count(0, PAGE):
            page = await self._models(stream, search=search, sort=sort, order=order, offset=offset)
            for model in page["models"]:
                yield model
            if offset + PAGE >= page["total"]:
                return

    async def events(
        self, stream: str | None = None, *, key: str | None = None, target: str | None = None
    ) -> AsyncIterator[Event]:
        """What happens, as it happens; ends when the server does."""
        connection: _Connection | None = None
        try:
            connection = await _Connection.open(self._place)
            status, parts = await connection.ask(_calls.events(stream, key, target))
            if status != 200:
                raise _calls.failure(status, b"".join([part async for part in parts]))
            reader = EventReader()
            async for part in parts:
                for event in reader.read(part):
                    yield event
        except _broken as error:
            raise self._place.unreachable(error) from error
        finally:
            if connection is not None:
                connection.close()

    # Connections

    async def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _call(self, call: Call[T]) -> T:
        async with self._allowed:
            while self._idle and not self._idle[-1].usable:
                self._idle.pop().close()
            connection = self._idle.pop() if self._idle else None
            try:
                status, body = await asyncio.wait_for(self._exchange(connection, call), self._timeout)
            except _broken as error:
                raise self._place.unreachable(error) from error
        if status >= 300:
            raise _calls.failure(status, body)
        return call.read(body)

    async def _exchange(self, connection: _Connection | None, call: Call[T]) -> tuple[int, bytes]:
        if connection is None:
            connection = await _Connection.open(self._place)
        try:
            status, parts = await connection.ask(call)
            body = b"".join([part async for part in parts])
        except BaseException:  # also when cancelled: what is left in it belongs to nobody
            connection.close()
            raise
        if connection.usable:
            self._idle.append(connection)
        else:
            connection.close()
        return status, body


async def _each(samples: Iterable[Sample] | AsyncIterable[Sample]) -> AsyncIterator[Sample]:
    if isinstance(samples, AsyncIterable):
        async for sample in samples:
            yield sample
    else:
        for sample in samples:
            yield sample
