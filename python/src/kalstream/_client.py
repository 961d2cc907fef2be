"""A client of `kalstream serve`."""

from __future__ import annotations

import http.client
import os
import select
import ssl
import threading
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

from . import _calls
from ._calls import Answer, Event, EventReader, Place, Sample
from ._learner import Learner

T = TypeVar("T")


class Client:
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

    def __init__(
        self,
        address: str = "http://127.0.0.1:8080",
        *,
        token: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
        trust: str | os.PathLike[str] | ssl.SSLContext | None = None,
        timeout: float = 60.0,
    ) -> None:
        self._place = Place(address, token, token_file, trust)
        self._timeout = timeout
        self._connection: http.client.HTTPConnection | None = None
        self._turn = threading.Lock()

    # Streams

    def streams(self) -> list[dict[str, Any]]:
        """All streams, each with its samples, errors, rate and so on."""
        return self._call(_calls.streams())

    def create(self, stream: str, **options: Any) -> dict[str, Any]:
        """Makes a stream, with options of `kalstream stream`: learner, target, key, interval, horizon, …"""
        return self._call(_calls.create(stream, options))

    def describe(self, stream: str) -> dict[str, Any]:
        """One stream, with its options, fields and scores."""
        return self._call(_calls.describe(stream))

    def delete(self, stream: str) -> None:
        """Deletes a stream with all it has learnt."""
        self._call(_calls.delete(stream))

    def reset(self, stream: str) -> None:
        """The stream begins again, with the same options and nothing learnt."""
        self._call(_calls.reset(stream))

    # Samples

    def send(self, stream: str, sample: Sample) -> Answer:
        """One sample; it is predicted, answered, and learnt if it has its target."""
        return self._call(_calls.send(stream, sample))

    def send_batch(self, stream: str, samples: Iterable[Sample]) -> list[Answer]:
        """Samples in one request; their answers, in order."""
        return self._call(_calls.send_batch(stream, samples))

    def send_all(self, stream: str, samples: Iterable[Sample], *, batch: int = 1000) -> Iterator[Answer]:
        """Any number of samples, so many a request; answers come as they are there."""
        for some in _calls.batches(samples, batch):
            yield from self.send_batch(stream, some)

    def label(self, stream: str, id: str | int, targets: Sample) -> Answer:
        """Targets of an earlier sample that had this id, {"y": 3.4}; with a key, its field as well."""
        return self.send(stream, {**targets, "id": id})

    def forecast(
        self,
        stream: str,
        horizon: int | None = None,
        *,
        key: str | None = None,
        future: Iterable[Sample] | None = None,
    ) -> list[dict[str, Any]]:
        """What comes next, with inputs known ahead in future; nothing is learnt."""
        return self._call(_calls.forecast(stream, horizon, key, future))

    # Models

    def models(
        self, stream: str, *, search: str | None = None, sort: str = "key", order: str = "asc"
    ) -> Iterator[dict[str, Any]]:
        """The models of a stream with keys; sort is key, error, surprise, age or samples."""
        offset = 0
        while True:
            page = self._call(_calls.models(stream, search, sort, order, offset, 100))
            yield from page["models"]
            offset += len(page["models"])
            if not page["models"] or offset >= page["total"]:
                return

    def snapshot(self, stream: str, *, key: str | None = None) -> bytes:
        """All that a model has learnt; `kalstream.Learner.load` reads it."""
        return self._call(_calls.snapshot(stream, key))

    def learner(self, stream: str, *, key: str | None = None) -> Learner:
        """A copy of a stream's learner, to go on with here."""
        return Learner.load(self.snapshot(stream, key=key))

    def restore(self, stream: str, source: Learner | bytes, *, key: str | None = None) -> None:
        """The model begins from a learner or a snapshot."""
        self._call(_calls.restore(stream, source, key))

    def forget(self, stream: str, *, key: str | None = None) -> None:
        """Forgets the model of a key."""
        self._call(_calls.forget(stream, key))

    # Looking

    def history(
        self, stream: str, *, key: str | None = None, target: str | None = None, points: int = 2000
    ) -> dict[str, Any]:
        """The newest points in columns, with forecast, weights of experts and errors."""
        return self._call(_calls.history(stream, key, target, points))

    def events(
        self, stream: str | None = None, *, key: str | None = None, target: str | None = None
    ) -> Iterator[Event]:
        """What happens, as it happens, over a connection of its own; ends when the server does."""
        connection = self._connect(None)
        try:
            response = self._ask(
                connection,
                "GET",
                _calls.events_path(stream, key, target),
                None,
                {"Accept": "text/event-stream"},
            )
            if response.status != 200:
                raise _calls.failure(response.status, response.read())
            reader = EventReader()
            while line := response.readline():
                event = reader.line(line)
                if event is not None:
                    yield event
        except (http.client.HTTPException, OSError) as error:
            raise self._place.unreachable(error) from error
        finally:
            connection.close()

    def metrics(self) -> str:
        """What Prometheus would read."""
        return self._call(_calls.metrics())

    # The connection

    def close(self) -> None:
        with self._turn:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"kalstream.Client({self._place!r})"

    def _connect(self, timeout: float | None) -> http.client.HTTPConnection:
        place = self._place
        if place.tls is not None:
            return http.client.HTTPSConnection(place.host, place.port, timeout=timeout, context=place.tls)
        return http.client.HTTPConnection(place.host, place.port, timeout=timeout)

    def _ask(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> http.client.HTTPResponse:
        connection.request(method, self._place.prefix + path, body, {**self._place.headers, **headers})
        return connection.getresponse()

    def _call(self, call: _calls.Call[T]) -> T:
        with self._turn:
            connection = self._connection
            # A connection that has something to say before it was asked was closed by the server meanwhile.
            if (
                connection is not None
                and connection.sock is not None
                and select.select([connection.sock], [], [], 0)[0]
            ):
                connection.close()
                connection = None
            if connection is None:
                connection = self._connection = self._connect(self._timeout)
            try:
                response = self._ask(connection, call.method, call.path, call.body, call.headers)
                body = response.read()
            except (http.client.HTTPException, OSError) as error:
                connection.close()
                self._connection = None
                raise self._place.unreachable(error) from error
        if response.status >= 300:
            raise _calls.failure(response.status, body)
        return call.read(body)
