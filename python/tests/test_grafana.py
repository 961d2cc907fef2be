"""The dashboard asks for metrics that there are."""

import json
import re

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def dashboard():
    return json.loads((ROOT / "docs/grafana/kalstream.json").read_text())


def metrics_of(dashboard, pattern):
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    asked += [json.dumps(variable) for variable in dashboard["templating"]["list"]]
    return {name for expression in asked for name in re.findall(pattern, expression)}


def test_of_streams(dashboard):
    source = (ROOT / "src/monitor/status.cc").read_text() + (ROOT / "docs/monitoring.md").read_text()
    asked = metrics_of(dashboard, r"kalstream_(?!fleet_)([a-z_]+)")
    assert len(asked) > 20
    missing = [name for name in asked if not re.search(rf"\b{name}\b", source)]
    assert missing == []


def test_of_fleets(dashboard):
    status = ROOT / "src/fleet/worker_status.cc"
    if not status.exists():
        pytest.skip("there is no fleet here")
    asked = metrics_of(dashboard, r"kalstream_fleet_([a-z_]+)")
    assert [name for name in asked if f'"{name}"' not in status.read_text()] == []


def test_panels_have_a_place_each(dashboard):
    taken = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
