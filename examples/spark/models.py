#!/usr/bin/env python3
"""A model for every device, in Spark's structured streaming.

    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.1 models.py BROKERS READINGS ANSWERS CHECKPOINT

Spark keeps a model's snapshot as the state of its key, and gives it back with the next batch. A shuffle keeps no order,
and what is learnt depends on it: within a batch the readings of a device are sorted by their offset."""

import sys

import kalstream
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupStateTimeout

INPUTS = ["temp", "load"]
READING = "device string, temp double, load double, target double"
ANSWER = "device string, offset long, prediction double"


def predict_and_learn(key, batches, state):
    """All that a batch has of one device, and the device's model before and after."""
    model = (kalstream.Learner.load(state.get[0], coverage=None) if state.exists
             else kalstream.Learner("alg1", inputs=INPUTS, hidden=8, coverage=None))
    rows = pd.concat(batches).sort_values("offset")
    predictions = []
    for x, target in zip(rows[INPUTS].to_numpy(), rows["target"]):
        predictions.append(model.predict(x)[0])
        model.advance(x) if pd.isna(target) else model.learn(x, target)
    state.update((model.save(),))
    yield pd.DataFrame({"device": key[0], "offset": rows["offset"], "prediction": predictions})


def answers(readings):
    """A stream of device, offset, inputs and target, answered."""
    return readings.groupBy("device").applyInPandasWithState(
        predict_and_learn, ANSWER, "snapshot binary", "append", GroupStateTimeout.NoTimeout)


def main():
    brokers, source, sink, checkpoint = sys.argv[1:]
    spark = SparkSession.builder.appName("kalstream").getOrCreate()
    records = spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers)
    records = records.option("subscribe", source).option("startingOffsets", "earliest").load()
    readings = records.select("offset", F.from_json(F.col("value").cast("string"), READING).alias("r"))
    out = answers(readings.select("offset", "r.*"))
    out = out.select(F.col("device").alias("key"), F.to_json(F.struct(*out.columns)).alias("value"))
    query = out.writeStream.format("kafka").option("kafka.bootstrap.servers", brokers).option("topic", sink)
    query.option("checkpointLocation", checkpoint).start().awaitTermination()


if __name__ == "__main__":
    main()
