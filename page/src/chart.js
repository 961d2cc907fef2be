// A chart of a Series over a Viewport, drawn by uPlot: axes, zoom and pan by pointer, wheel and keys, and a
// readout. What is drawn is thinned to the width in pixels, so that a redraw costs the same however much is there.
import uPlot from "uplot";
import { element } from "./dom.js";
import * as format from "./format.js";
import { pick } from "./series.js";
import { colour } from "./theme.js";

const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const steps = [1, 2, 5].flatMap((digit) => [0, 1, 2, 3, 4, 5, 6, 7].map((power) => digit * 10 ** power)).sort((a, b) => a - b);

export class Chart {
  // lines: uPlot series; columns(series, picked, forecast) gives their data; range(data) the bounds of y;
  // paint(uplot, from, to) what is drawn on top; read(index) is told the point under the pointer, or -1.
  constructor({ series, viewport, label, height, lines, bands = [], columns, range, paint = () => {}, read = () => {}, changed }) {
    Object.assign(this, { series, viewport, columns, height, changed });
    this.node = element("div", { class: "chart", tabindex: "0", role: "group", "aria-label": label, "aria-describedby": "chart-keys",
      onkeydown: (event) => this.key(event) });
    const axis = { stroke: () => colour("muted"), font, grid: { stroke: () => colour("grid"), width: 1 }, ticks: { show: false }, gap: 6 };
    this.plot = new uPlot({
      width: 600, height, lines, bands,
      series: [{}, ...lines],
      legend: { show: false },
      padding: [8, 12, 0, 0],
      scales: {
        x: { time: false, auto: false, range: (plot, min, max) => [min, max] },
        y: { range: () => range(this.drawn) },
      },
      axes: [
        { ...axis, incrs: steps, space: 90, size: 30, values: (plot, splits) => this.ticks(splits) },
        { ...axis, space: 34, size: 60, values: (plot, splits) => splits.map(format.number) }, // one size: charts line up
      ],
      cursor: { y: false, drag: { x: true, setScale: false }, points: { size: 6 }, bind: { dblclick: () => null } },
      select: { show: true, left: 0, top: 0, width: 0, height: 0 },
      hooks: {
        draw: [(plot) => paint(plot, this.from, this.to)],
        setSelect: [(plot) => this.select(plot)],
        setCursor: [(plot) => read(plot.cursor.left >= 0 ? this.indexAt(plot.posToVal(plot.cursor.left, "x")) : -1)],
      },
    }, [[], ...lines.map(() => [])], this.node);
    this.plot.over.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.plot.over.addEventListener("dblclick", () => { viewport.reset(); changed(); });
    this.resizing = new ResizeObserver(() => this.resize());
    this.resizing.observe(this.node);
  }

  resize() {
    const width = Math.floor(this.node.clientWidth);
    if (!width) return;
    const height = width < 500 ? Math.round(this.height * 0.8) : this.height;
    if (width !== this.plot.width || height !== this.plot.height) {
      this.plot.setSize({ width, height });
      this.changed();
    }
  }

  draw() {
    const { series, plot } = this;
    if (!series.size || !this.node.clientWidth) return;
    const { min, max } = this.viewport.range(series);
    this.from = Math.max(0, series.find(series.x, min));
    this.to = Math.min(series.last, series.find(series.x, max) + 1);
    const picked = pick(series, this.from, this.to, Math.max(200, plot.bbox.width / devicePixelRatio));
    this.drawn = this.columns(series, picked, this.to === series.last ? series.forecast : null);
    plot.batch(() => {
      plot.setData(this.drawn, false);
      plot.setScale("x", { min, max });
    });
  }

  indexAt(x) {
    const { series } = this;
    const before = series.find(series.x, x);
    if (before < 0) return 0;
    const after = Math.min(before + 1, series.last);
    return x - series.x[before] <= series.x[after] - x ? before : after;
  }

  // Times if samples have them, else sample numbers; in the future what the forecast says.
  ticks(splits) {
    const { series } = this;
    const moment = (x) => {
      const ahead = Math.round(x - series.lastX);
      if (ahead > 0) return format.parseTime(series.forecast?.time?.[ahead - 1]);
      return x < series.firstX ? NaN : series.time[series.find(series.x, x)];
    };
    if (!series.hasTime) {
      return splits.map((x) => (x > series.lastX ? `+${Math.round(x - series.lastX)}`
        : x < series.firstX ? "" : format.count(series.sample[series.find(series.x, x)])));
    }
    const moments = splits.map(moment);
    const seen = moments.filter((value) => !Number.isNaN(value));
    const span = seen.length > 1 ? seen[seen.length - 1] - seen[0] : 0;
    return moments.map((value) => (Number.isNaN(value) ? "" : format.tick(value, span)));
  }

  select(plot) {
    const { left, width } = plot.select;
    if (width > 5) {
      this.viewport.show(this.series, plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
      this.changed();
    }
    if (width > 0) plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  wheel(event) {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
      this.viewport.move(this.series, (event.deltaX || event.deltaY) / 1000);
    } else {
      const box = this.plot.over.getBoundingClientRect();
      this.viewport.zoom(this.series, Math.exp(event.deltaY / 500), this.plot.posToVal(event.clientX - box.left, "x"));
    }
    this.changed();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { viewport, series } = this;
    const actions = {
      ArrowLeft: () => viewport.move(series, -0.2), ArrowRight: () => viewport.move(series, 0.2),
      "+": () => viewport.zoom(series, 1 / 1.5), "=": () => viewport.zoom(series, 1 / 1.5),
      "-": () => viewport.zoom(series, 1.5), 0: () => viewport.reset(), Home: () => viewport.reset(), Escape: () => viewport.reset(),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
    this.changed();
  }

  close() {
    this.resizing.disconnect();
    this.plot.destroy();
  }
}

export { font };
