// A stream with keys: its models in a table that the server searches and sorts, however many there are.
import { getJson } from "./api.js";
import { announce, element, setText } from "./dom.js";
import * as format from "./format.js";
import { Latency, Tiles, Warnings } from "./panels.js";
import { address } from "./route.js";
import { viewHeader } from "./series_view.js";
import { LiveTable } from "./table.js";
import { View } from "./view.js";

const pageSize = 25;

export class KeysView extends View {
  constructor(page, stream, route) {
    super(page, stream.name);
    this.stream = stream;
    this.offset = 0;
    this.typing = null;
    this.search = element("input", { type: "search", id: "search", placeholder: "Search keys", "aria-label": "Search keys",
      oninput: () => { clearTimeout(this.typing); this.typing = setTimeout(() => this.turn(0), 150); } });
    this.tiles = new Tiles({ models: "Keys", samples: "Samples", rate: "Rate", error: "Error (NSE)", anomalies: "Anomalies", age: "Newest" });
    this.latency = new Latency();
    this.warnings = new Warnings();
    this.table = new LiveTable({
      caption: "Keys", key: (model) => model.key, sort: "surprise", order: "asc", onsort: () => this.turn(0),
      columns: [
        { id: "key", title: "Key", sort: "asc", heading: true, fill: (cell, model) => this.fillKey(cell, model) },
        { id: "samples", title: "Samples", sort: "desc", numeric: true, text: (model) => format.count(model.samples) },
        { id: "error", title: "Error", sort: "desc", numeric: true, text: (model) => format.number(model.nse_recent) },
        { id: "surprise", title: "Surprise", sort: "asc", numeric: true, text: (model) => format.surprise(model.surprise) },
        { id: "anomalies", title: "Anomalies", numeric: true, text: (model) => format.count(model.anomalies) },
        { id: "age", title: "Newest", sort: "asc", numeric: true, text: (model) => format.age(model.last) },
      ],
    });
    this.where = element("span", { class: "where", role: "status" });
    this.back = element("button", { type: "button", onclick: () => this.turn(this.offset - pageSize) }, "Back");
    this.next = element("button", { type: "button", onclick: () => this.turn(this.offset + pageSize) }, "Next");
    this.node = element("div", {}, viewHeader(stream, route), this.tiles.node,
      element("section", { class: "panel flush", "aria-label": "Keys" }, element("div", { class: "bar" }, this.search,
        element("div", { class: "tools" }, this.where, this.back, this.next)), this.table.node),
      element("div", { class: "columns" }, this.latency.node, this.warnings.node));
    this.drawNumbers = this.redrawer(() => this.drawFigures(), 250);
    this.follow({ stream: stream.name });
    this.every(2000, () => { if (!page.paused && !document.hidden && page.isConnected) this.load(); });
  }

  event(name, data) {
    if (name === "status") {
      this.stream = data;
      this.latency.add(data);
      this.drawNumbers();
    } else if (name === "warning") {
      this.warnings.add(data);
    }
  }

  turn(offset) {
    this.offset = Math.max(0, offset);
    this.table.moved = true;
    this.load();
  }

  async load() {
    this.loading?.abort();
    this.loading = new AbortController();
    const { sort, order } = this.table;
    try {
      const answer = await getJson(`streams/${encodeURIComponent(this.stream.name)}/models`,
        { search: this.search.value || null, sort, order, offset: this.offset, limit: pageSize }, this.loading.signal);
      this.show(answer);
    } catch (error) {
      if (error.status) this.page.failed(error);
    }
  }

  show({ total, models }) {
    if (models.length === 0 && total > 0 && this.offset > 0) { this.turn(0); return; }
    this.table.update(models);
    this.back.disabled = this.offset === 0;
    this.next.disabled = this.offset + models.length >= total;
    setText(this.where, total === 0 ? (this.search.value ? "No key has that in it" : "No keys yet")
      : `${format.count(this.offset + 1)} to ${format.count(this.offset + models.length)} of ${format.count(total)}`);
    this.drawNumbers();
  }

  fillKey(cell, model) {
    if (!cell.firstChild) cell.append(element("a", { href: address(this.stream.name, { key: model.key }), class: "first" }, model.key || "(empty key)"));
  }

  drawFigures() {
    if (this.page.paused) return;
    const { stream, tiles } = this;
    tiles.set("models", format.count(stream.models));
    tiles.set("samples", format.count(stream.samples));
    tiles.set("rate", format.rate(stream.rate));
    tiles.set("error", format.number(stream.nse_recent), format.gainText(stream.nse_recent, stream.naive_nse_recent));
    tiles.set("anomalies", format.count(stream.anomalies));
    tiles.set("age", format.age(stream.last), format.clock(stream.last));
    this.latency.draw();
    announce(`${stream.name}: ${format.count(stream.models)} keys, ${format.count(stream.samples)} samples`);
  }

  themeChanged() { this.drawNumbers(); }
  pausedChanged() { this.load(); }

  close() {
    super.close();
    this.loading?.abort();
    clearTimeout(this.typing);
  }
}
