// One stream, or one key of it: what came, what was predicted, and how good that was.
import { getJson } from "./api.js";
import { announce, element, setText } from "./dom.js";
import { errorChart } from "./error_chart.js";
import * as format from "./format.js";
import { Experts, Latency, Tiles, Warnings, panel } from "./panels.js";
import { predictionChart } from "./prediction_chart.js";
import { address } from "./route.js";
import { Series } from "./series.js";
import { View } from "./view.js";
import { Viewport } from "./viewport.js";

const windows = { 100: "Last 100", 300: "Last 300", 1000: "Last 1,000", all: "All that is here" };
const historyPoints = 2000;

export class SeriesView extends View {
  constructor(page, stream, route) {
    super(page, route.key === null ? stream.name : `${route.key} · ${stream.name}`);
    Object.assign(this, { stream, route });
    this.series = new Series();
    this.viewport = new Viewport(route.window === "all" ? Infinity : Number(route.window) || 300);
    this.waiting = null; // events that came while the history was loading
    this.build();
    this.drawCharts = this.redrawer(() => this.draw());
    this.drawNumbers = this.redrawer(() => this.drawFigures(), 250);
    this.drawTable = this.redrawer(() => this.fillTable(), 1000);
    this.follow({ stream: stream.name, key: route.key, target: route.target });
    this.every(1000, () => this.drawNumbers());
    if (route.key !== null) this.every(3000, () => this.poll());
  }

  build() {
    const { stream, route, series, viewport } = this;
    const changed = () => this.viewChanged();
    const read = (index) => { this.pointed = index; this.showReadout(); };
    this.chart = predictionChart({ series, viewport, read, changed });
    this.errors = errorChart({ series, viewport, read, changed });
    this.tiles = new Tiles({ target: route.target ?? stream.targets?.[0] ?? "Target", error: "Error (NSE)", coverage: "Within interval",
      surprise: "Surprise", rate: "Rate", age: "Newest" });
    this.experts = new Experts();
    this.latency = new Latency();
    this.warnings = new Warnings();
    this.readout = element("p", { class: "readout" });
    this.table = element("tbody");
    const button = (text, label, action) => element("button", { type: "button", "aria-label": label, title: label, onclick: () => { action(); changed(); } }, text);
    const window = route.window ?? "300";
    this.window = element("select", { "aria-label": "How much to show", onchange: (event) => this.go({ window: event.target.value }) },
      ...Object.entries(windows).map(([value, text]) => element("option", { value, selected: value === window }, text)));
    const tools = element("div", { class: "tools" }, this.targets(), this.window,
      button("−", "Zoom out", () => viewport.zoom(series, 1.5)), button("+", "Zoom in", () => viewport.zoom(series, 1 / 1.5)),
      button("◀", "Earlier", () => viewport.move(series, -0.3)), button("▶", "Later", () => viewport.move(series, 0.3)),
      this.live = button("Live", "Live: back to the newest points", () => viewport.reset()));
    const legend = element("ul", { class: "legend" }, ...[["target", "Target"], ["prediction", "Prediction"],
      ...(stream.interval ? [["band", `${format.percent(stream.interval).replace(".0", "")} interval`]] : []),
      ...(stream.horizon > 0 ? [["forecast", "Forecast"]] : []), ["anomaly", "Anomaly"]]
      .map(([name, text]) => element("li", { class: `key-${name}` }, text)));
    const head = ["Sample", "Time", "Target", "Prediction", "Interval", "Surprise", "Anomaly"];
    this.details = element("details", { class: "panel", ontoggle: () => this.drawTable() }, element("summary", {}, "Newest values as a table"),
      element("table", { class: "plain" }, element("caption", { class: "unseen" }, "The twenty newest values"),
        element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))), this.table));
    this.node = element("div", {}, viewHeader(stream, route), this.tiles.node,
      element("section", { class: "panel", "aria-label": "Target and prediction" }, element("div", { class: "bar" }, legend, tools),
        this.chart.node, this.readout),
      panel("Error over time", element("ul", { class: "legend" }, element("li", { class: "key-prediction-solid" }, "Prediction"),
        element("li", { class: "key-naive" }, "Repeating the last value")), this.errors.node),
      this.details, element("div", { class: "columns" }, this.experts.node, this.latency.node, this.warnings.node),
      element("p", { class: "note", id: "chart-keys" }, "Drag or turn the wheel over a chart to zoom, double-click to go back. With the keyboard: arrows move, + and − zoom, 0 goes back."));
  }

  targets() {
    const { stream, route } = this;
    if (!(stream.targets?.length > 1)) return null;
    const chosen = route.target ?? stream.targets[0];
    return element("select", { "aria-label": "Target", onchange: (event) => this.go({ target: event.target.value }) },
      ...stream.targets.map((name) => element("option", { value: name, selected: name === chosen }, name)));
  }

  go(change) {
    const { name, key, target, window } = { ...this.route, ...change };
    location.hash = address(name, { key, target, window });
  }

  // History, then the events that came meanwhile.
  async load() {
    if (this.waiting) return;
    this.waiting = [];
    const { name, key, target } = this.route;
    try {
      const history = await getJson(`streams/${encodeURIComponent(name)}/history`, { key, target, points: historyPoints });
      this.replace(history);
    } catch (error) {
      if (error.status) this.page.failed(error);
    }
    const waiting = this.waiting;
    this.waiting = null;
    for (const [what, data] of waiting) this.event(what, data);
  }

  // What is already here stays where the new history follows on from it; else the new one takes its place.
  replace(history) {
    const { points } = history;
    const { series } = this;
    const follows = series.size && points.sample.length && points.sample[0] <= series.sample[series.last] && points.sample.at(-1) >= series.sample[series.last];
    if (!follows) {
      const before = series.lastX;
      series.clear();
      if (!this.viewport.following) this.viewport.shift(points.sample.length - 1 - before);
    }
    points.sample.forEach((sample, i) => {
      const point = { sample, at: points.at[i], time: points.time?.[i], target: points.target[i], prediction: points.prediction[i],
        low: points.low?.[i], high: points.high?.[i], surprise: points.surprise?.[i], anomaly: points.anomaly?.[i] };
      if (!series.append(point, format.parseTime)) series.label(point);
    });
    series.forecast = history.forecast;
    this.showModel(history);
    for (const warning of history.warnings ?? []) this.warnings.add(warning, { loud: false });
    this.changed();
  }

  // With a key, scores and weights are those of its own model, which only the history tells.
  showModel({ nse_recent, naive_nse_recent, experts }) {
    this.scores = { nse_recent, naive_nse_recent };
    this.experts.show(experts);
  }

  async poll() {
    if (this.waiting || document.hidden || !this.page.isConnected || this.page.paused) return;
    const { name, key, target } = this.route;
    try { this.showModel(await getJson(`streams/${encodeURIComponent(name)}/history`, { key, target, points: 1 })); } catch { /* next time */ }
  }

  event(name, data) {
    if (this.waiting && name !== "status") { this.waiting.push([name, data]); return; }
    if (name === "point") {
      if (this.series.append(data, format.parseTime)) {
        this.series.forecast = data.forecast ?? null;
        if (data.anomaly && !this.page.paused) announce(`Anomaly: ${format.number(data.target)}, predicted ${format.number(data.prediction)}`, { urgent: true });
        this.changed();
      }
    } else if (name === "label") {
      if (this.series.label(data)) this.changed();
    } else if (name === "status") {
      this.stream = data;
      this.latency.add(data);
      if (this.route.key === null && !this.page.paused) this.showModel(data);
      this.drawNumbers();
    } else if (name === "warning") {
      this.warnings.add(data);
    } else if (name === "skipped") {
      this.load();
    }
  }

  changed() {
    if (this.page.paused) { this.page.missed(); return; }
    this.drawCharts();
    this.drawNumbers();
    this.drawTable();
  }

  viewChanged() { this.drawCharts(); }

  draw() {
    this.chart.draw();
    this.errors.draw();
    this.live.classList.toggle("away", !this.viewport.following);
    if (!(this.pointed >= 0)) this.showReadout();
  }

  // The point under the pointer, else the newest.
  showReadout() {
    const { series } = this;
    if (!series.size) return;
    const i = this.pointed >= 0 ? Math.min(this.pointed, series.last) : series.last;
    const time = Number.isNaN(series.time[i]) ? format.clock(series.at[i]) : format.when(series.time[i]);
    const interval = Number.isNaN(series.low[i]) ? "" : ` · between ${format.number(series.low[i])} and ${format.number(series.high[i])}`;
    setText(this.readout, `${time} · sample ${format.count(series.sample[i])} · target ${format.number(series.target[i])} · predicted ${format.number(series.prediction[i])}${interval}${series.anomaly[i] ? " · anomaly" : ""}`);
  }

  drawFigures() {
    const { series, stream, tiles, page } = this;
    if (page.paused) return;
    this.latency.draw();
    const i = series.last;
    if (i >= 0) {
      tiles.set("target", format.number(series.target[i]), `predicted ${format.number(series.prediction[i])}`);
      tiles.set("surprise", format.surprise(series.surprise[i]), format.anomalies(stream.anomalies), series.anomaly[i] ? "alarm" : "");
      tiles.set("age", format.age(series.at[i]), format.clock(series.at[i]));
      announce(`${this.title}: target ${format.number(series.target[i])}, predicted ${format.number(series.prediction[i])}`);
    }
    const { nse_recent: nse, naive_nse_recent: naive } = this.scores ?? {};
    tiles.set("error", format.number(nse), format.gainText(nse, naive), format.gain(nse, naive) < 0 ? "poor" : "");
    tiles.set("coverage", format.percent(stream.coverage_recent), stream.interval ? `promised ${format.percent(stream.interval).replace(".0", "")}` : "no intervals");
    tiles.set("rate", format.rate(stream.rate), `${format.count(stream.samples)} samples`);
  }

  fillTable() {
    if (!this.details.open || this.page.paused) return;
    const { series } = this;
    const rows = [];
    for (let i = series.last; i >= Math.max(0, series.size - 20); i -= 1) {
      const time = Number.isNaN(series.time[i]) ? format.clock(series.at[i]) : format.when(series.time[i]);
      rows.push([format.count(series.sample[i]), time, format.number(series.target[i]), format.number(series.prediction[i]),
        Number.isNaN(series.low[i]) ? "–" : `${format.number(series.low[i])} to ${format.number(series.high[i])}`,
        format.surprise(series.surprise[i]), series.anomaly[i] ? "yes" : ""]);
    }
    while (this.table.children.length < rows.length) {
      this.table.append(element("tr", {}, ...rows[0].map(() => element("td"))));
    }
    rows.forEach((row, r) => row.forEach((text, c) => setText(this.table.children[r].children[c], text)));
  }

  themeChanged() { this.drawCharts(); this.drawNumbers(); }

  // The charts stand still; points go on being collected.
  pausedChanged() {
    if (this.page.paused) this.viewport.hold(this.series);
    else { this.viewport.reset(); this.changed(); }
  }

  close() {
    super.close();
    this.chart.close();
    this.errors.close();
  }
}

// Where one is, and what the stream is.
export function viewHeader(stream, route) {
  const path = element("nav", { "aria-label": "Path", class: "path" }, element("a", { href: "#/" }, "Streams"));
  if (route.key !== null) path.append(" / ", element("a", { href: address(stream.name) }, stream.name));
  const facts = [stream.learner, stream.keys && route.key === null ? `${format.count(stream.models)} keys` : null,
    stream.interval ? `${format.percent(stream.interval).replace(".0", "")} intervals` : null,
    stream.horizon > 0 ? `${format.count(stream.horizon)} steps ahead` : null].filter(Boolean);
  return element("header", { class: "view" }, element("div", {}, path,
    element("h1", { tabindex: "-1" }, route.key === null ? stream.name : route.key || "(empty key)"),
    element("p", { class: "lead" }, facts.join(" · "))));
}
