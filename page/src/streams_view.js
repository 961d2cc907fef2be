// All streams: a table to search and sort, with the last minute of each as a small line.
import { getJson } from "./api.js";
import { compare } from "./compare.js";
import { announce, element, setText } from "./dom.js";
import * as format from "./format.js";
import { address } from "./route.js";
import { sparkline } from "./sparkline.js";
import { LiveTable, twoLines } from "./table.js";
import { View } from "./view.js";

const mostRows = 200;
const sparkPoints = 80;
const sparkAge = 4000; // milliseconds until a small line is drawn anew
const listAge = 5000; // milliseconds until the list is asked for again where events say that it is not whole

export class StreamsView extends View {
  constructor(page) {
    super(page, "Streams");
    this.streams = null; // name -> {stream, at}: when it was told last
    this.listed = -Infinity; // when the list was asked for last
    this.sparks = new Map(); // name -> {at, values, anomalies}
    this.search = element("input", { type: "search", id: "search", placeholder: "Search streams", "aria-label": "Search streams",
      oninput: () => this.redraw() });
    this.table = new LiveTable({
      caption: "Streams", key: (stream) => stream.name, sort: "name", order: "asc", onsort: () => this.redraw(),
      columns: [
        { id: "name", title: "Stream", sort: "asc", heading: true, fill: fillName },
        { id: "recent", title: "Recent", fill: (cell, stream) => this.fillSpark(cell, stream) },
        { id: "samples", title: "Samples", sort: "desc", numeric: true, text: (stream) => format.count(stream.samples) },
        { id: "rate", title: "Rate", sort: "desc", numeric: true, text: (stream) => format.rate(stream.rate) },
        { id: "error", title: "Error", sort: "desc", numeric: true,
          fill: (cell, stream) => twoLines(cell, format.number(stream.nse_recent), format.gainText(stream.nse_recent, stream.naive_nse_recent)) },
        { id: "surprise", title: "Surprise", sort: "asc", numeric: true,
          fill: (cell, stream) => twoLines(cell, format.surprise(stream.surprise), stream.anomalies ? format.anomalies(stream.anomalies) : "") },
        { id: "age", title: "Newest", sort: "asc", numeric: true, text: (stream) => format.age(stream.last) },
      ],
    });
    this.summary = element("p", { class: "lead" }, "Loading …");
    this.empty = element("div", { class: "empty", hidden: true },
      element("p", {}, "There is no stream yet. The first sample makes one:"),
      element("pre", {}, `curl -H 'Content-Type: application/json' -d '{"x": 1.5, "y": 3.1}' ${location.origin}/api/v1/streams/first/samples`));
    this.more = element("p", { class: "note" });
    this.node = element("div", {}, element("header", { class: "view" },
      element("div", {}, element("h1", { tabindex: "-1" }, "Streams"), this.summary),
      element("div", { class: "tools" }, this.search)),
    this.empty, element("section", { class: "panel flush", "aria-label": "Streams" }, this.table.node), this.more,
    element("p", { class: "note" }, "Error is relative to the variance of the target, over the last thousand samples or so: 0 is perfect, 1 as good as its mean. Surprise is how rare the newest value is."));
    this.redraw = this.redrawer(() => this.draw(), 250);
    this.follow({});
    this.every(1000, () => this.redraw());
    this.every(250, () => this.loadSparks());
  }

  event(name, data) {
    if (name === "skipped") this.load();
    if (name !== "streams") return;
    for (const stream of data.streams) this.tell(stream);
    for (const gone of data.removed ?? []) this.streams?.delete(gone);
    this.redraw();
    if (this.streams?.size !== data.total && performance.now() - this.listed > listAge) this.load();
  }

  // The list, page by page. What events tell meanwhile is newer.
  async load() {
    if (this.listing) return;
    this.listing = true;
    const begun = this.listed = performance.now();
    try {
      const there = new Set();
      for (let after = ""; after !== null;) {
        const { streams, next } = await getJson("streams", { after, limit: 1000 });
        for (const stream of streams) {
          there.add(stream.name);
          if (!(this.streams?.get(stream.name)?.at > begun)) this.tell(stream);
        }
        after = next;
      }
      this.streams ??= new Map();
      for (const [name, { at }] of this.streams) if (at <= begun && !there.has(name)) this.streams.delete(name);
      this.redraw();
    } catch { /* events tell it again */ }
    this.listing = false;
  }

  tell(stream) {
    this.streams ??= new Map();
    this.streams.set(stream.name, { stream, at: performance.now() });
    if (stream.keys) this.addRate(stream);
  }

  // A stream with keys has no one target: its line is how many samples come.
  addRate(stream) {
    const spark = this.sparks.get(stream.name) ?? { at: 0, values: [], anomalies: [] };
    spark.values.push(stream.rate ?? NaN);
    if (spark.values.length > sparkPoints) spark.values.shift();
    spark.changed = true;
    this.sparks.set(stream.name, spark);
  }

  // One small history at a time, of what is in sight and was not looked at for longest.
  async loadSparks() {
    if (this.loading || this.page.paused || document.hidden || !this.page.isConnected) return;
    const now = performance.now();
    const due = this.shown?.find((stream) => {
      const spark = this.sparks.get(stream.name);
      return !stream.keys && (!spark || (now - spark.at > sparkAge && spark.samples !== stream.samples)) && this.inSight(stream.name);
    });
    if (!due) return;
    this.loading = true;
    try {
      const { points } = await getJson(`streams/${encodeURIComponent(due.name)}/history`, { points: sparkPoints });
      this.sparks.set(due.name, { at: now, samples: due.samples, values: points.target, anomalies: points.anomaly, changed: true });
      this.redraw();
    } catch {
      this.sparks.set(due.name, { at: now, samples: due.samples, values: [], anomalies: [] });
    }
    this.loading = false;
    if (this.shown?.some((stream) => !stream.keys && !this.sparks.has(stream.name))) this.loadSparks();
  }

  inSight(name) {
    const box = this.table.rows.get(name)?.node.getBoundingClientRect();
    return box && box.bottom > 0 && box.top < window.innerHeight;
  }

  fillSpark(cell, stream) {
    if (!cell.firstChild) cell.append(element("canvas", { class: "spark", "aria-hidden": "true" }));
    const spark = this.sparks.get(stream.name);
    if (!spark?.changed && cell.firstChild.theme === this.page.themeVersion) return;
    cell.firstChild.theme = this.page.themeVersion;
    if (!spark) return;
    spark.changed = false;
    sparkline(cell.firstChild, spark.values.map((value) => value ?? NaN),
      { anomalies: spark.anomalies, stroke: stream.keys ? "muted" : "target", zero: stream.keys });
  }

  draw() {
    if (!this.streams || this.page.paused) return;
    const { table } = this;
    const streams = [...this.streams.values()].map(({ stream }) => stream);
    const wanted = this.search.value.trim().toLowerCase();
    const value = { name: (s) => s.name, samples: (s) => s.samples, rate: (s) => s.rate, error: (s) => s.nse_recent,
      surprise: (s) => s.surprise, age: (s) => (s.last === null ? null : -s.last) }[table.sort];
    const found = streams.filter((stream) => stream.name.toLowerCase().includes(wanted))
      .sort((a, b) => compare(value(a), value(b), table.order) || compare(a.name, b.name, "asc"));
    this.shown = found.slice(0, mostRows);
    table.update(this.shown);
    const total = (of) => streams.reduce((sum, stream) => sum + (of(stream) ?? 0), 0);
    const text = `${format.count(streams.length)} ${streams.length === 1 ? "stream" : "streams"} · ${format.rate(total((s) => s.rate))} · ${format.count(total((s) => s.samples))} samples`;
    setText(this.summary, text);
    this.empty.hidden = streams.length > 0;
    table.node.parentNode.hidden = streams.length === 0;
    setText(this.more, found.length > mostRows ? `${format.count(found.length - mostRows)} more: search to narrow it down.`
      : found.length === 0 && streams.length > 0 ? "No stream has that in its name." : "");
    announce(text);
  }

  themeChanged() { this.redraw(); }
  pausedChanged() { this.redraw(); }
}

function fillName(cell, stream) {
  if (!cell.firstChild) {
    cell.append(element("a", { href: address(stream.name), class: "first" }, stream.name), element("span", { class: "second" }));
  }
  setText(cell.lastChild, stream.keys ? `${stream.learner} · ${format.count(stream.models)} keys` : stream.learner);
}
