// The parts that views of a stream are made of: tiles with a number each, experts' weights, latency, warnings.
import { announce, element, setText } from "./dom.js";
import * as format from "./format.js";
import { sparkline } from "./sparkline.js";

export function panel(title, ...children) {
  const id = `panel-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  return element("section", { class: "panel", "aria-labelledby": id }, element("h2", { id }, title), ...children);
}

// A number with its name above and what it compares with below.
export class Tiles {
  constructor(titles) {
    this.tiles = new Map();
    this.node = element("dl", { class: "tiles" });
    for (const [id, title] of Object.entries(titles)) {
      const tile = { value: element("dd", { class: "value" }, "–"), note: element("dd", { class: "note" }) };
      tile.node = element("div", { class: "tile", "data-tile": id }, element("dt", {}, title), tile.value, tile.note);
      this.tiles.set(id, tile);
      this.node.append(tile.node);
    }
  }

  set(id, value, note = "", state = "") {
    const tile = this.tiles.get(id);
    setText(tile.value, value);
    setText(tile.note, note);
    if (tile.node.dataset.state !== state) tile.node.dataset.state = state;
  }
}

// Bars by the size of the weight; one that is subtracted is hatched and has its sign.
export class Experts {
  constructor() {
    this.list = element("ol", { class: "experts" });
    this.more = element("p", { class: "note" });
    this.node = panel("Experts", this.list, this.more);
    this.node.hidden = true;
    this.bars = new Map();
  }

  show(experts) {
    if (!experts?.names?.length) return;
    this.node.hidden = false;
    const sorted = experts.names.map((name, i) => ({ name, weight: experts.weights[i] ?? 0 }))
      .sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
    const most = Math.max(1e-9, Math.abs(sorted[0].weight));
    const shown = sorted.slice(0, 12);
    const names = new Set(shown.map(({ name }) => name));
    for (const [name, bar] of this.bars) if (!names.has(name)) { bar.node.remove(); this.bars.delete(name); }
    shown.forEach(({ name, weight }, i) => {
      let bar = this.bars.get(name);
      if (!bar) {
        bar = { fill: element("span", { class: "fill" }), value: element("span", { class: "weight" }) };
        bar.node = element("li", {}, element("span", { class: "name" }, name), element("span", { class: "track" }, bar.fill), bar.value);
        this.bars.set(name, bar);
      }
      bar.fill.style.transform = `scaleX(${(Math.abs(weight) / most).toFixed(3)})`;
      bar.fill.classList.toggle("subtracted", weight < 0);
      setText(bar.value, weight.toFixed(3).replace("-", "−"));
      if (this.list.children[i] !== bar.node) this.list.insertBefore(bar.node, this.list.children[i]);
    });
    setText(this.more, sorted.length > shown.length ? `${sorted.length - shown.length} more with less weight` : "");
  }
}

// From the arrival of a sample to its answer: newest figures, and how they went while the page was open.
export class Latency {
  constructor() {
    this.past = [];
    this.canvas = element("canvas", { class: "spark wide", role: "img", "aria-label": "99 % quantile of the latency, lately" });
    this.tiles = new Tiles({ p50: "Half within", p99: "99 % within", max: "Longest" });
    this.note = element("p", { class: "note" });
    this.node = panel("Latency", this.tiles.node, this.canvas, this.note);
  }

  add(status) {
    this.status = status;
    this.past.push(status.latency_ms?.p99 ?? NaN);
    if (this.past.length > 300) this.past.shift();
  }

  draw() {
    if (!this.status) return;
    const { p50, p99, max } = this.status.latency_ms ?? {};
    this.tiles.set("p50", format.milliseconds(p50));
    this.tiles.set("p99", format.milliseconds(p99));
    this.tiles.set("max", format.milliseconds(max));
    setText(this.note, `Memory ${format.bytes(this.status.memory_bytes)} · ${format.count(this.status.refused)} refused`);
    sparkline(this.canvas, this.past, { stroke: "prediction", zero: true });
  }
}

export class Warnings {
  constructor() {
    this.list = element("ol", { class: "warnings", tabindex: "0", "aria-label": "Warnings, newest first" });
    this.none = element("p", { class: "note" }, "None while this page was open.");
    this.node = panel("Warnings", this.none, this.list);
    this.seen = new Set();
    this.list.hidden = true;
  }

  add(warning, { loud = true } = {}) {
    const identity = `${warning.at} ${warning.kind} ${warning.text}`;
    if (this.seen.has(identity)) return;
    this.seen.add(identity);
    this.none.hidden = true;
    this.list.hidden = false;
    this.list.prepend(element("li", {}, element("span", { class: "kind" }, warning.kind.replaceAll("_", " ")),
      element("time", { datetime: new Date(warning.at).toISOString() }, format.clock(warning.at)),
      warning.key ? element("span", { class: "of" }, warning.key) : null, element("span", { class: "text" }, warning.text)));
    while (this.list.children.length > 50) this.list.lastChild.remove();
    if (loud) announce(`Warning: ${warning.text}`, { urgent: true });
  }
}
