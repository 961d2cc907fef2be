"""Reading and writing topics, as a test needs it."""

import collections
import time

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from broker import silent

Message = collections.namedtuple("Message", "partition offset key value headers time")


def producer(address, **more):
    """Writes everything once and in order, also while nodes fail. Places keys as Java's clients do."""
    settings = {"bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 5, "partitioner": "murmur2_random",
                "logger": silent}
    return Producer(settings | more)


def write(sender, topic, records):
    """Sends (key, value) of bytes or None, and waits until the broker has them."""
    failed = []
    for key, value in records:
        while True:
            try:
                sender.produce(topic, value, key, on_delivery=lambda error, _: error and failed.append(error))
                break
            except BufferError:
                sender.poll(0.1)
    sender.flush()
    if failed:
        raise RuntimeError(f"{topic}: {len(failed)} records could not be written: {failed[0]}")


class Reader:
    """Follows all partitions of a topic from their beginning, committed records only, outside of any group."""

    def __init__(self, address, topic, committed=True):
        self.consumer = Consumer({"bootstrap.servers": address, "group.id": "reader", "enable.auto.commit": False,
                                  "isolation.level": "read_committed" if committed else "read_uncommitted",
                                  "auto.offset.reset": "earliest", "enable.partition.eof": True,
                                  "fetch.wait.max.ms": 20, "logger": silent})
        known = self.consumer.list_topics(topic, timeout=30).topics[topic]
        if known.error:
            raise RuntimeError(f"{topic}: {known.error}")
        self.partitions = sorted(known.partitions)
        self.consumer.assign([TopicPartition(topic, p, 0) for p in self.partitions])
        self.messages = []
        self.at_end = set()

    def poll(self, seconds=0.05):
        """Takes in what has come; how many there are by now."""
        for message in self.consumer.consume(2000, seconds):
            error = message.error()
            if error and error.code() == KafkaError._PARTITION_EOF:
                self.at_end.add(message.partition())
            elif not error:
                self.at_end.discard(message.partition())
                headers = {name: value.decode() for name, value in message.headers() or []}
                self.messages.append(Message(message.partition(), message.offset(), message.key(), message.value(),
                                             headers, message.timestamp()[1] / 1000))
            elif not error.retriable() and error.code() not in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
                raise RuntimeError(str(error))
        return len(self.messages)

    def close(self):
        self.consumer.close()


def read(address, topic, committed=True, seconds=60):
    """All that a topic holds now, in the order of each partition."""
    reader = Reader(address, topic, committed)
    deadline = time.monotonic() + seconds
    while len(reader.at_end) < len(reader.partitions):
        reader.poll()
        if time.monotonic() > deadline:
            raise RuntimeError(f"{topic}: could not be read to its end within {seconds} s")
    reader.close()
    return sorted(reader.messages, key=lambda message: (message.partition, message.offset))
