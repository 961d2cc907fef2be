#!/usr/bin/env python3
"""A model for every device, in Quix Streams, exactly once.

    models.py BROKERS READINGS ANSWERS

A model's snapshot is the state of its key: Quix keeps it on disk and in a changelog topic, and commits it in one
transaction with the answers and the offsets. Every record loads and saves a snapshot, so this is for small models; many
models, or large ones, are what `kalstream fleet` is for."""

import sys

import kalstream
from quixstreams import Application

INPUTS = ["temp", "load"]


def predict_and_learn(reading, state):
    """One reading of a device, and the device's model before and after."""
    kept = state.get_bytes("snapshot")
    model = (kalstream.Learner.load(kept, coverage=None) if kept
             else kalstream.Learner("alg1", inputs=INPUTS, hidden=8, coverage=None))
    x = [reading[name] for name in INPUTS]
    prediction = float(model.predict(x)[0])
    target = reading.get("target")
    model.advance(x) if target is None else model.learn(x, target)
    state.set_bytes("snapshot", model.save())
    return {"device": reading["device"], "id": reading["id"], "prediction": prediction}


def application(brokers, source, sink, **options):
    app = Application(broker_address=brokers, consumer_group="models", auto_offset_reset="earliest",
                      processing_guarantee="exactly-once", **options)
    readings = app.dataframe(app.topic(source, value_deserializer="json"))
    readings.apply(predict_and_learn, stateful=True).to_topic(app.topic(sink, value_serializer="json"))
    return app


if __name__ == "__main__":
    application(*sys.argv[1:]).run()
