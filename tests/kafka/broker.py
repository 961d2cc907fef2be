#!/usr/bin/env python3
"""A real Apache Kafka on loopback, of one node or three, for tests and for trying things out.

    broker.py run [--nodes 3] [--secure]      starts one, tells its address, and runs until it is stopped (Control-C)

As a class: `with Broker(nodes=3) as broker: broker.create("readings", 12)`. The jars come from Maven, once, into
build/kafka/lib; data and logs lie in a new folder beside them, which is deleted at the end. Needs Java 17, Maven, and
confluent-kafka in Python."""

import argparse
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from processes import exit_on_signals, new_folder, spawn, wait_for

VERSION = "4.3.1"
HOME = pathlib.Path(__file__).resolve().parents[2] / "build" / "kafka"
CLUSTER = "a2Fsc3RyZWFtLXRlc3RzMA"  # 16 bytes in base64, as Kafka has its identifiers
USER, PASSWORD = "worker", "correct horse"
JAVA = ["java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]


def fetch():
    """The broker's jars, if they are not there."""
    jars = HOME / f"lib-{VERSION}"
    if jars.exists():
        return jars
    HOME.mkdir(parents=True, exist_ok=True)
    print(f"Fetching Apache Kafka {VERSION} (44 MB, once)", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=HOME) as folder:
        wanted = pathlib.Path(folder, "pom.xml")
        wanted.write_text(_POM)
        copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=" + folder + "/lib"]
        subprocess.run(["mvn", "-q", "-B", "-Dstyle.color=never", "-f", wanted, *copy], check=True)
        pathlib.Path(folder, "lib").rename(jars)  # whole or not at all
    return jars


def _dependency(group, name, version, more=""):
    return (f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
            f"{more}</dependency>")


_POM = ("<project><modelVersion>4.0.0</modelVersion><groupId>kalstream</groupId><artifactId>test-broker</artifactId>"
        "<version>1</version><dependencies>" + _dependency("org.apache.kafka", "kafka_2.13", VERSION)
        + _dependency("org.slf4j", "slf4j-simple", "1.7.36") + "</dependencies></project>")


def free_ports(count):
    """Ports that nobody listens at, below those that the system gives to connections: a node that is killed finds its
    own free when it comes back."""
    sockets = []
    while len(sockets) < count:
        attempt = socket.socket()
        try:
            attempt.bind(("127.0.0.1", random.randrange(20000, 32000)))
            sockets.append(attempt)
        except OSError:
            attempt.close()
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Broker:
    """With secure=True there is a second listener, at `secure_address`: TLS (its authority is the file `authority`)
    and a user's name and password."""

    def __init__(self, nodes=1, secure=False, settings=None):
        self.jars = fetch()
        self.folder = new_folder("broker-", HOME)
        self.count, self.secure, self.settings = nodes, secure, settings or {}
        self.nodes = range(1, nodes + 1)
        self.running = {}
        ports = free_ports(3 * nodes)
        self.ports = {node: ports[3 * k:3 * k + 3] for k, node in enumerate(self.nodes)}
        self.address = ",".join(f"127.0.0.1:{self.ports[node][0]}" for node in self.nodes)
        self.secure_address = f"127.0.0.1:{self.ports[1][2]}"
        self.authority = self.folder / "authority.pem"
        self._admin = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for node in list(self.running):
            self.kill(node)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        """Starts what does not run, and waits until all nodes know each other."""
        if self.secure and not self.authority.exists():
            self._make_certificate()
        new = [node for node in self.nodes if not self._settings_of(node).exists()]
        formats = []
        for node in new:
            self._write_settings(node)
            formats.append(self._java(node, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c"))
        for process in formats:
            process.wait()
        for node in self.nodes:
            self.start_node(node)
        wait_for(self._is_whole, "the broker to start", 120)
        return self

    def start_node(self, node):
        if node not in self.running:
            self.running[node] = self._java(node, "kafka.Kafka")

    def kill(self, node):
        """As a power cut would."""
        process = self.running.pop(node)
        process.kill()
        process.wait()

    def stop(self, node):
        process = self.running.pop(node)
        process.send_signal(signal.SIGTERM)
        process.wait()

    def admin(self):
        if self._admin is None:
            self._admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0, "logger": silent})
        return self._admin

    def forget_admin(self):
        """The next one is new: after the death of a node a client may ask it for ever who coordinates a group."""
        self._admin = None

    def create(self, topic, partitions, copies=None, **config):
        """A topic; settings as keywords, with _ for the dots."""
        config = {name.replace("_", "."): str(value) for name, value in config.items()}
        new = NewTopic(topic, partitions, copies or self.count, config=config)
        self.admin().create_topics([new])[topic].result(60)

    def delete(self, topic):
        self.admin().delete_topics([topic])[topic].result(60)

    def caught_up(self):
        """Whether every node runs and has a copy of all it should have: the next one may fail."""
        try:
            known = self.admin().list_topics(timeout=5)
        except KafkaException:
            return False
        topics = known.topics.values()
        return len(known.brokers) == self.count and all(
            len(p.isrs) == len(p.replicas) for topic in topics for p in topic.partitions.values())

    def known_nodes(self):
        """How many nodes the others know of."""
        try:
            return len(self.admin().list_topics(timeout=5).brokers)
        except KafkaException:
            return self.count

    def log(self, lines=20):
        text = [f"{file.name}: {line}" for file in sorted(self.folder.glob("*.log"))
                for line in file.read_text(errors="replace").splitlines()[-lines:]]
        return "\n".join(text)

    def _is_whole(self):
        for node, process in self.running.items():
            if process.poll() is not None:
                raise RuntimeError(f"node {node} of the broker ended with {process.returncode}:\n{self.log()}")
        try:
            return len(self.admin().list_topics(timeout=2).brokers) == self.count
        except KafkaException:
            return False

    def _settings_of(self, node):
        return self.folder / f"{node}.properties"

    def _java(self, node, *words):
        log = open(self.folder / f"{node}.log", "ab")
        with log:
            return spawn([*JAVA, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{self.jars}/*", *words,
                          self._settings_of(node)], stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def _write_settings(self, node):
        client, control, secure = self.ports[node]
        listeners = f"PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{control}"
        voters = ",".join(f"{n}@127.0.0.1:{self.ports[n][1]}" for n in self.nodes)
        copies, needed = self.count, min(self.count, 2)
        settings = {
            "process.roles": "broker,controller",
            "node.id": node,
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL",
            "log.dirs": self.folder / f"data-{node}",
            "auto.create.topics.enable": "false",
            "default.replication.factor": copies,
            "min.insync.replicas": needed,
            "offsets.topic.replication.factor": copies,
            "offsets.topic.num.partitions": 3,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": needed,
            "transaction.state.log.num.partitions": 3,
            # A test has no time for what spares large installations a rebalance or two
            "group.initial.rebalance.delay.ms": 0,
            "group.min.session.timeout.ms": 1000,
            "broker.session.timeout.ms": 3000,
            "broker.heartbeat.interval.ms": 500,
            "replica.lag.time.max.ms": 5000,
            # So that compaction happens while a test runs
            "log.cleaner.backoff.ms": 1000,
            "log.cleaner.dedupe.buffer.size": 8 << 20,
            # Snapshots of large models
            "message.max.bytes": 16 << 20,
            "replica.fetch.max.bytes": 16 << 20,
        }
        if self.secure:
            listeners += f",SASL_SSL://127.0.0.1:{secure}"
            login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
            settings |= {
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{login} user_{USER}="{PASSWORD}";',
                "ssl.keystore.location": self.folder / "node.p12",
                "ssl.keystore.password": PASSWORD,
                "ssl.keystore.type": "PKCS12",
            }
        settings["listeners"] = listeners
        settings |= self.settings
        self._settings_of(node).write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    def _make_certificate(self):
        """Signed by itself, so it is its own authority."""
        store = ["-keystore", self.folder / "node.p12", "-storetype", "PKCS12", "-storepass", PASSWORD, "-alias", "node"]
        made = ["-genkeypair", "-keyalg", "EC", "-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1", "-validity", "2"]
        for words in (made, ["-exportcert", "-rfc", "-file", self.authority]):
            subprocess.run(["keytool", *words, *store], check=True, capture_output=True)


class Silent:
    """For clients that may talk to nodes which are not there: nobody needs to read that."""

    def log(self, *_, **__):
        pass

    def __getattr__(self, name):
        return self.log


silent = Silent()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["fetch", "run"])
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--secure", action="store_true")
    options = parser.parse_args()
    exit_on_signals()
    if options.what == "fetch":
        fetch()
        return
    with Broker(options.nodes, options.secure) as broker:
        print(broker.address, flush=True)
        if options.secure:
            print(f"{broker.secure_address} (TLS by {broker.authority}, user {USER}, password {PASSWORD})", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
