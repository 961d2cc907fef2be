// Target and prediction with their interval, anomalies, and the forecast as a fan.
import { Chart } from "./chart.js";
import { orNull } from "./format.js";
import { diamond } from "./sparkline.js";
import { colour } from "./theme.js";

const nothing = { show: false };

export function predictionChart({ series, viewport, read, changed }) {
  return new Chart({
    series, viewport, read, changed, height: 340, label: "Target and prediction over time",
    lines: [
      { stroke: () => colour("prediction"), dash: [6, 3], points: nothing },
      { stroke: () => colour("target"), points: nothing },
      { stroke: () => colour("forecast"), dash: [2, 3], points: nothing, few: true },
    ],
    columns: (all, picked, forecast) => {
      const column = (name) => picked.map((i) => orNull(all[name][i]));
      const none = () => picked.map(() => null);
      const drawn = { x: picked.map((i) => all.x[i]), lines: [column("prediction"), column("target"), none()],
        areas: [{ low: column("low"), high: column("high"), fill: colour("band") }, { low: none(), high: none(), fill: colour("fan") }] };
      if (forecast && picked.length) addForecast(drawn, all, forecast);
      return drawn;
    },
    range: bounds,
    paint: (plot, from, to) => paintAnomalies(plot, series, from, to),
  });
}

// The fan opens at the newest value.
function addForecast({ x, lines: [prediction, target, ahead], areas: [band, fan] }, series, forecast) {
  const newest = x.length - 1;
  const start = target[newest] ?? prediction[newest];
  for (const column of [ahead, fan.low, fan.high]) column[newest] = start;
  forecast.value.forEach((value, lead) => {
    x.push(series.lastX + lead + 1);
    for (const column of [prediction, target, band.low, band.high]) column.push(null);
    ahead.push(orNull(value ?? NaN));
    fan.low.push(orNull(forecast.low?.[lead] ?? NaN));
    fan.high.push(orNull(forecast.high?.[lead] ?? NaN));
  });
}

// All lines, and of the intervals as much as leaves these well in sight.
function bounds(drawn) {
  if (!drawn?.x.length) return [0, 1];
  const { lines: [prediction, target, ahead], areas } = drawn;
  let low = Infinity;
  let high = -Infinity;
  const include = (column, least = -Infinity, most = Infinity) => {
    for (const value of column) {
      if (value === null) continue;
      if (value < low) low = Math.max(value, least);
      if (value > high) high = Math.min(value, most);
    }
  };
  include(target);
  include(ahead);
  if (low > high) include(prediction);
  if (low > high) return [0, 1];
  const height = high - low || Math.abs(high) || 1;
  const [least, most] = [low - 0.6 * height, high + 0.6 * height];
  for (const column of [prediction, ...areas.flatMap((area) => [area.low, area.high])]) include(column, least, most);
  const margin = 0.06 * (high - low || height);
  return [low - margin, high + margin];
}

function paintAnomalies(plot, series, from, to) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  if (series.forecast?.value.length) { // a line between what was and what may be
    const x = plot.valToPos(series.lastX, "x", true);
    ctx.strokeStyle = colour("muted");
    ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.fillStyle = colour("anomaly");
  for (let i = from; i <= to; i += 1) {
    if (!series.anomaly[i] || Number.isNaN(series.target[i])) continue;
    diamond(ctx, plot.valToPos(series.x[i], "x", true), plot.valToPos(series.target[i], "y", true), 5.5 * devicePixelRatio);
  }
  ctx.restore();
}
