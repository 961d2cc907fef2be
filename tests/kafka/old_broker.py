"""A broker as they were in 2016, as far as a client gets with it: it knows no transactions."""

import socketserver
import struct
import threading

# What Apache Kafka 0.10 could do: number of the request, lowest and highest version
REQUESTS = {0: (0, 2), 1: (0, 3), 2: (0, 1), 3: (0, 2), 8: (0, 2), 9: (0, 2), 10: (0, 0), 11: (0, 1), 12: (0, 0),
            13: (0, 0), 14: (0, 0), 15: (0, 0), 16: (0, 0), 17: (0, 0), 18: (0, 0), 19: (0, 1), 20: (0, 1)}
METADATA, VERSIONS = 3, 18
UNSUPPORTED_VERSION = 35


def text(value):
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()


class Connection(socketserver.StreamRequestHandler):
    def handle(self):
        while size := self.rfile.read(4):
            request = self.rfile.read(struct.unpack(">i", size)[0])
            number, version, correlation, client = struct.unpack_from(">hhih", request)
            answer = self.answer(number, version, request[10 + max(client, 0):])
            if answer is None:
                return  # as old brokers do with what they do not understand
            self.wfile.write(struct.pack(">ii", 4 + len(answer), correlation) + answer)

    def answer(self, number, version, body):
        if number == VERSIONS:
            error = UNSUPPORTED_VERSION if version > 0 else 0
            known = b"".join(struct.pack(">hhh", request, *span) for request, span in REQUESTS.items())
            return struct.pack(">hi", error, len(REQUESTS)) + known
        if number == METADATA and version <= 2:
            return self.metadata(version, body)
        return None

    def metadata(self, version, body):
        """Itself, and every topic that is asked for, of one partition."""
        port = self.server.server_address[1]
        broker = struct.pack(">ii", 1, 0) + text("127.0.0.1") + struct.pack(">i", port)
        broker += text(None) if version >= 1 else b""
        broker += text("old") if version >= 2 else b""
        broker += struct.pack(">i", 0) if version >= 1 else b""  # the controller
        count, place, topics = struct.unpack_from(">i", body)[0], 4, []
        for _ in range(max(count, 0)):
            length = struct.unpack_from(">h", body, place)[0]
            name = body[place + 2:place + 2 + length].decode()
            place += 2 + length
            partition = struct.pack(">hiiiiii", 0, 0, 0, 1, 0, 1, 0)
            internal = struct.pack(">?", False) if version >= 1 else b""
            topics.append(struct.pack(">h", 0) + text(name) + internal + struct.pack(">i", 1) + partition)
        return broker + struct.pack(">i", len(topics)) + b"".join(topics)


class OldBroker:
    """As a context: its address."""

    def __enter__(self):
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Connection)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"127.0.0.1:{self.server.server_address[1]}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
