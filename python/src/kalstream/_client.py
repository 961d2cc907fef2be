"""A client of `kalstream serve`."""

from __future__ import annotations

import http.client
import select
import threading
from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Any, TypeVar

from . import _calls
from ._calls import LOCAL, PAGE, Answer, Call, Calls, Event, EventReader, Sample

T = TypeVar("T")


class Client(Calls):
    """A server of streams, `kalstream serve`, over one connection that is kept.

    >>> client = kalstream.Client("http://127.0.0.1:8080")            # doctest: +SKIP
    >>> client.create("load", learner="auto", target="y", interval=0.9)  # doctest: +SKIP
    >>> client.send("load", {"temperature": 21.5, "y": 3.1})          # doctest: +SKIP
    {'sample': 1, 'status': 'learnt', 'prediction': 0.0, ...}

    token, or token_file (a file with nothing else in it), where the server asks for one; trust is a
    file with the certificates to trust, or an ssl.SSLContext, where it is https. Threads may share a
    client: they take turns. What the server refuses raises ServerError; a server that does not answer,
    ConnectionError. Nothing is sent twice: after a ConnectionError it is not known whether samples were
    learnt (`describe` tells how many).
    """

    def __init__(self, address: str = LOCAL, **options: Any) -> None:
        super().__init__(address, **options)
        self._connection: http.client.HTTPConnection | None = None
        self._turn = threading.Lock()

    def send_all(self, stream: str, samples: Iterable[Sample], *, batch: int = 1000) -> Iterator[Answer]:
        """Any number of samples, so many a request; answers come as they are there."""
        rest = iter(samples)
        while some := list(islice(rest, batch)):
            yield from self.send_batch(stream, some)

    def streams(self) -> list[dict[str, Any]]:
        """All streams by name, each with its samples, errors, rate and so on."""
        page = self._streams(None)
        found = page["streams"]
        while page["next"] is not None:
            page = self._streams(page["next"])
            found += page["streams"]
        return found

    def models(
        self, stream: str, *, search: str | None = None, sort: str = "key", order: str = "asc"
    ) -> Iterator[dict[str, Any]]:
        """The models of a stream with keys; sort is key, error, surprise, age or samples."""
        for offset in count(0, PAGE):
            page = self._models(stream, search=search, sort=sort, order=order, offset=offset)
            yield from page["models"]
            if offset + PAGE >= page["total"]:
                return

    def events(
        self, stream: str | None = None, *, key: str | None = None, target: str | None = None
    ) -> Iterator[Event]:
        """What happens, as it happens, over a connection of its own; ends when the server does."""
        connection = self._connect(None)
        try:
            response = self._ask(connection, _calls.events(stream, key, target))
            if response.status != 200:
                raise _calls.failure(response.status, response.read())
            reader = EventReader()
            while line := response.readline():
                yield from reader.read(line)
        except (http.client.HTTPException, OSError) as error:
            raise self._place.unreachable(error) from error
        finally:
            connection.close()

    # The connection

    def close(self) -> None:
        with self._turn:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _connect(self, timeout: float | None) -> http.client.HTTPConnection:
        place = self._place
        if place.tls is not None:
            return http.client.HTTPSConnection(place.host, place.port, timeout=timeout, context=place.tls)
        return http.client.HTTPConnection(place.host, place.port, timeout=timeout)

    def _ask(self, connection: http.client.HTTPConnection, call: Call[Any]) -> http.client.HTTPResponse:
        place = self._place
        connection.request(call.method, place.prefix + call.path, call.body, {**place.headers, **call.headers})
        return connection.getresponse()

    def _call(self, call: Call[T]) -> T:
        with self._turn:
            connection = self._connection
            # A connection that has something to say before it was asked was closed by the server meanwhile.
            if connection and connection.sock and select.select([connection.sock], [], [], 0)[0]:
                connection.close()
                connection = None
            if connection is None:
                connection = self._connection = self._connect(self._timeout)
            try:
                response = self._ask(connection, call)
                body = response.read()
            except (http.client.HTTPException, OSError) as error:
                connection.close()
                self._connection = None
                raise self._place.unreachable(error) from error
        if response.status >= 300:
            raise _calls.failure(response.status, body)
        return call.read(body)
