"""A whole stream inside of a program: records in, answers out, checkpoints in between."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Union, overload

from . import _core

Record = Union[Mapping[str, Any], Sequence[Any]]


class Stream:
    """What `kalstream stream` is, without files and pipes.

    One model or one for every key, targets that come late, time, missing values, classes, bounds,
    surprise and forecasts. The settings are the options of `kalstream stream` for what is learnt;
    the first record tells which field is what.

    >>> stream = Stream(target="load", key="site", interval=0.9, learner="rls")
    >>> answer = stream.take({"site": "a", "temp": 3.5, "load": 41.0})
    >>> answer["key"], answer["status"]
    ('a', 'learnt')
    >>> saved = stream.checkpoint()
    >>> stream = Stream(target="load", key="site", interval=0.9, learner="rls")
    >>> stream.resume(saved)

    Models stay in memory until they are forgotten. One thread at a time may use a stream.
    """

    def __init__(self, **settings: Any) -> None:
        self._stream = _core.Stream(json.dumps(settings))

    @overload
    def take(self, record: str) -> str | None: ...
    @overload
    def take(self, record: Record) -> dict[str, Any] | None: ...
    def take(self, record: str | Record) -> str | dict[str, Any] | None:
        """Takes a record, and predicts.

        A line of text is answered by a line, in JSON or CSV as it is itself, a dict or a list by a dict,
        and what says nothing (blank, a comment, a header) by None. A record that cannot be used is answered
        with the status "refused" and the reason, which in CSV is among the remarks.
        """
        if isinstance(record, str):
            return self._stream.take(record)
        answer = self._stream.take(json.dumps(record, default=_plain))
        return None if answer is None else json.loads(answer)

    def learn(self) -> None:
        """Learns what the last record has brought, as every other call does first."""
        self._stream.learn()

    def take_remarks(self) -> list[str]:
        """What people should know since the last call."""
        return self._stream.take_remarks()

    def schema(self) -> dict[str, Any]:
        """Which field is what; without fields before the first record has told."""
        return json.loads(self._stream.schema())

    def status(self) -> dict[str, Any]:
        """What was counted and how good it was."""
        return json.loads(self._stream.status())

    def state_of(self, key: str = "") -> bytes | None:
        """The model of a key, or the only one; None if there is none."""
        return self._stream.state_of(key)

    def put_state(self, state: bytes, key: str = "") -> None:
        """The key's model is from now on that of `state_of`, or of a snapshot of a learner."""
        self._stream.put_state(state, key)

    def judge_alarm(self, real: bool, key: str = "") -> None:
        """Says whether the last alarm, or what was missed lately, was one. Moves what is told from now on.

        Needs `strangeness`, `alarm_above` or `alarm_below` in the settings; with keys, the key of the model.
        """
        record = {"alarm": "real" if real else "false"}
        fields = self.schema().get("fields", [])
        record.update({field["name"]: key for field in fields if field["role"] == "key"})
        answer = self.take(record)
        if answer is None or answer["status"] != "judged":
            reason = (answer or {}).get("error", "the stream has no alarms; ask for strangeness or a limit")
            raise ValueError(str(reason))

    def forget(self, key: str) -> bool:
        """As if the key had never come; False if it has not."""
        return self._stream.forget(key)

    def checkpoint(self) -> bytes:
        """The whole stream, all models included."""
        return self._stream.checkpoint()

    def resume(self, checkpoint: bytes) -> None:
        """Goes on from a checkpoint, before the first record, with the settings of then."""
        self._stream.resume(checkpoint)


def _plain(value: Any) -> Any:
    """What JSON has no word for: NumPy's numbers, times."""
    return value.item() if hasattr(value, "item") else str(value)
