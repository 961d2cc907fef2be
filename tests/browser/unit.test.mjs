// The parts of the page that need no browser.
import assert from "node:assert/strict";
import { it } from "node:test";
import { compare } from "../../page/src/compare.js";
import * as format from "../../page/src/format.js";
import { address, parse } from "../../page/src/route.js";
import { Series, pick } from "../../page/src/series.js";
import { Viewport } from "../../page/src/viewport.js";

const point = (sample, more = {}) => ({ sample, at: 1e12 + sample, time: null, target: Math.sin(sample), prediction: 0, low: -1, high: 1, surprise: 0.5, anomaly: false, ...more });

function filled(count, capacity, more = () => ({})) {
  const series = new Series(capacity);
  for (let i = 1; i <= count; i += 1) series.append(point(i, more(i)), format.parseTime);
  return series;
}

it("keeps the newest points whole, thins older ones, and never grows", () => {
  const series = filled(100000, 1024, (i) => ({ anomaly: i === 500 || i === 777 }));
  assert.ok(series.size <= 1024);
  for (let back = 0; back < 500; back += 1) assert.equal(series.sample[series.last - back], 100000 - back);
  for (let i = 1; i < series.size; i += 1) assert.ok(series.x[i] > series.x[i - 1] && series.sample[i] > series.sample[i - 1]);
  const anomalies = [...series.sample.subarray(0, series.size)].filter((_, i) => series.anomaly[i]);
  assert.deepEqual(anomalies, [500, 777], "anomalies outlive what is ordinary");
  assert.ok(series.firstX < 1000, "the beginning is still there, coarser");
});

it("takes no point twice, and targets that come late", () => {
  const series = filled(10, 64, () => ({ target: null }));
  assert.equal(series.append(point(10), format.parseTime), false);
  assert.equal(series.label({ sample: 7, target: 3, surprise: 1e-6, anomaly: true }), true);
  assert.equal(series.target[6], 3);
  assert.equal(series.anomaly[6], 1);
  assert.equal(series.label({ sample: 99, target: 3 }), false);
  series.score();
  assert.ok(Number.isNaN(series.error[5]));
  assert.equal(series.error[6], 3);
});

it("scores predictions beside repeating the last value", () => {
  const series = filled(1000, 2048, (i) => ({ target: i % 2 ? 1 : -1, prediction: i % 2 ? 1.1 : -0.9 }));
  series.score();
  assert.ok(Math.abs(series.error[series.last] - 0.1) < 1e-9);
  assert.ok(Math.abs(series.naive[series.last] - 2) < 1e-9);
});

it("draws few points of many, with what stands out", () => {
  const series = filled(5000, 8192, (i) => ({ target: i === 2345 ? 100 : 0 }));
  const picked = pick(series, 0, series.last, 200);
  assert.ok(picked.length <= 401);
  assert.ok(picked.includes(2344));
  assert.equal(picked.at(-1), series.last);
  for (let i = 1; i < picked.length; i += 1) assert.ok(picked[i] > picked[i - 1]);
  assert.equal(pick(series, 10, 19, 200).length, 10);
});

it("follows the newest points until somebody looks elsewhere", () => {
  const series = filled(1000, 2048);
  const viewport = new Viewport(300);
  assert.equal(viewport.range(series).min, 999 - 300);
  viewport.zoom(series, 0.5);
  assert.ok(viewport.following && viewport.range(series).min === 999 - 150);
  viewport.move(series, -0.5);
  assert.ok(!viewport.following);
  const { max } = viewport.range(series);
  for (let i = 1001; i < 1100; i += 1) series.append(point(i), format.parseTime);
  assert.equal(viewport.range(series).max, max, "new points do not move it");
  for (let i = 0; i < 20; i += 1) viewport.move(series, 0.5);
  assert.ok(viewport.following, "going on to the end follows again");
  for (let i = 0; i < 60; i += 1) viewport.zoom(series, 1.5);
  assert.equal(viewport.range(series).min, 0, "never beyond the beginning");
  viewport.reset();
  assert.equal(viewport.range(series).min, series.lastX - 300);
});

it("writes numbers and times as people read them", () => {
  assert.deepEqual([0, -1.5, 12345.678, 1e-7, null, NaN].map(format.number), ["0", "−1.5", "12,346", "1.00e−7", "–", "–"]);
  assert.equal(format.surprise(0.0007), "1 in 1,400");
  assert.equal(format.surprise(0.4), "ordinary");
  assert.equal(format.gainText(0.1, 0.4), "75 % below last value");
  assert.equal(format.rate(0.5), "30.0 /min");
  assert.equal(format.milliseconds(0.25), "250 µs");
  assert.equal(format.age(0, 90000), "1 min");
  assert.equal(format.parseTime("2026-02-03 04:05:06"), Date.UTC(2026, 1, 3, 4, 5, 6));
  assert.equal(format.parseTime(1760000000), 1760000000000);
  assert.ok(Number.isNaN(format.parseTime(17)) && Number.isNaN(format.parseTime("soon")) && Number.isNaN(format.parseTime(null)));
});

it("gives every view an address, whatever is in a key", () => {
  for (const key of ["a", "", "ä/ö?&=#%", `<img src=x onerror=alert(1)>"'`, "\u0000\n"]) {
    const route = parse(address("boiler.1", { key, target: "y", window: null }));
    assert.deepEqual(route, { view: "stream", name: "boiler.1", key, target: "y", window: null });
  }
  assert.equal(parse("#/").view, "streams");
  assert.equal(parse("#/stream/%E0%A4%A").name, "%E0%A4%A");
});

it("sorts what is not known to the end, both ways", () => {
  const sorted = (order) => [3, null, 1, undefined, 2].sort((a, b) => compare(a, b, order)).slice(0, 3);
  assert.deepEqual(sorted("asc"), [1, 2, 3]);
  assert.deepEqual(sorted("desc"), [3, 2, 1]);
});
