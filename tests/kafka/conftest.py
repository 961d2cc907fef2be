"""One broker for all cases; each has a fleet of its own."""

import pathlib
import signal

import pytest

from broker import Broker
from fleets import Fleet
from processes import exit_on_signals


def pytest_addoption(parser):
    parser.addoption("--program", default=str(pathlib.Path(__file__).parents[2] / "build/release/kalstream"))


@pytest.fixture(scope="session")
def program(request):
    return request.config.getoption("--program")


@pytest.fixture(scope="session")
def broker():
    exit_on_signals()
    with Broker(secure=True) as started:
        yield started


@pytest.fixture
def make_fleet(program, broker, tmp_path):
    made = []

    def make():
        made.append(Fleet(program, broker, tmp_path))
        return made[-1]

    yield make
    for fleet in made:
        for worker in fleet.workers:
            worker.end(signal.SIGKILL)


@pytest.fixture
def fleet(make_fleet):
    return make_fleet()
