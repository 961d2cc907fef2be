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
  // lines: uPlot series, with `few` where there are never many points; columns(series, picked, forecast) gives what to draw: {x, lines: one list of values each,
  // areas: [{low, high, fill}]}; range(drawn) the bounds of y; paint(uplot, from, to) draws on top; read(index) is told
  // the point under the pointer, or -1.
  constructor({ series, viewport, label, height, lines, columns, range, paint = () => {}, read = () => {}, changed }) {
    Object.assign(this, { series, viewport, columns, height, changed });
    this.lines = lines;
    this.node = element("div", { class: "chart", tabindex: "0", role: "group", "aria-label": label, "aria-describedby": "chart-keys",
      onkeydown: (event) => this.key(event) });
    const axis = { stroke: () => colour("muted"), font, grid: { stroke: () => colour("grid"), width: 1 }, ticks: { show: false }, gap: 6 };
    this.plot = new uPlot({
      width: 600, height,
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
        drawAxes: [(plot) => this.paintAreas(plot)],
        draw: [(plot) => paint(plot, this.from, this.to)],
        setSelect: [(plot) => this.select(plot)],
        setCursor: [(plot) => read(plot.cursor.left >= 0 ? this.indexAt(plot.posToVal(plot.cursor.left, "x")) : -1)],
      },
    }, [[], ...lines.map(() => [])], this.node);
    this.plot.over.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.plot.over.addEventListener("pointerdown", () => { // what is being marked does not slip away
      this.marking = true;
      const mark = new AbortController();
      for (const end of ["pointerup", "pointercancel"]) {
        window.addEventListener(end, () => { mark.abort(); this.marking = false; changed(); }, { signal: mark.signal });
      }
    });
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
    if (!series.size || !this.node.clientWidth || this.marking) return;
    const { min, max } = this.viewport.range(series);
    this.from = Math.max(0, series.find(series.x, min));
    this.to = Math.min(series.last, series.find(series.x, max) + 1);
    const width = Math.max(200, plot.bbox.width / devicePixelRatio);
    this.dense = this.to - this.from > width / 2; // there dashes would not be seen, and cost much
    this.lines.forEach(({ dash, few }, i) => {
      plot.series[i + 1].dash = this.dense && !few ? undefined : dash;
      plot.series[i + 1].width = this.dense && !few ? 1 : 1.7;
    });
    const picked = pick(series, this.from, this.to, Math.round(width / 2));
    this.drawn = this.columns(series, picked, this.to === series.last ? series.forecast : null);
    plot.batch(() => {
      plot.setData([this.drawn.x, ...this.drawn.lines], false);
      plot.setScale("x", { min, max });
    });
  }

  // Each stretch without a gap is one polygon. Where points are dense it is a column for each: a polygon with
  // so many teeth takes a browser a hundred times longer.
  paintAreas(plot) {
    const { ctx, bbox } = plot;
    const { x, areas = [] } = this.drawn ?? {};
    const left = (i) => Math.round(plot.valToPos(x[i], "x", true));
    const top = (value) => plot.valToPos(value, "y", true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const { low, high, fill } of areas) {
      ctx.fillStyle = fill;
      for (let begin = 0, end = 0; begin < x.length; begin = end + 1) {
        for (end = begin; end < x.length && low[end] !== null && high[end] !== null; end += 1);
        if (end - begin < 2) continue;
        if (this.dense) {
          for (let i = begin; i + 1 < end; i += 1) {
            ctx.fillRect(left(i), top(high[i]), left(i + 1) - left(i), top(low[i]) - top(high[i]));
          }
        } else {
          ctx.beginPath();
          for (let i = begin; i < end; i += 1) ctx.lineTo(left(i), top(high[i]));
          for (let i = end - 1; i >= begin; i -= 1) ctx.lineTo(left(i), top(low[i]));
          ctx.fill();
        }
      }
    }
    ctx.restore();
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
