"""A `kalstream serve` of a test's own."""

import http.client
import socket
import subprocess
import time

import pytest


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, program, store, *options, port=None):
        if "serve" not in subprocess.run([program, "--help"], capture_output=True, text=True).stdout:
            pytest.skip(f"{program} has no `serve`")
        self.port = port or free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.command = [
            str(program),
            "serve",
            "--port",
            str(self.port),
            "--store",
            str(store),
            *map(str, options),
        ]
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            self.command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        end = time.monotonic() + 60
        while not self.answers():
            if self.process.poll() is not None:
                said = self.process.stderr.read()
                if "built without TLS" in said:  # the program of a wheel
                    pytest.skip(said.strip())
                pytest.fail(said)
            assert time.monotonic() < end, "the server is not ready"
            time.sleep(0.02)

    def answers(self):
        """Whether it listens; a server that wants TLS hangs up on plain text, and that is an answer, too."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (http.client.HTTPException, ConnectionResetError):
            return True
        except OSError:
            return False
        finally:
            connection.close()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.process.stderr.close()
