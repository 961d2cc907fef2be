// Target and prediction with their interval, anomalies, and the forecast as a fan.
import { Chart } from "./chart.js";
import { diamond } from "./sparkline.js";
import { colour } from "./theme.js";

const orNull = (value) => (Number.isNaN(value) || value === undefined ? null : value);
const nothing = { show: false };

export function predictionChart({ series, viewport, read, changed }) {
  const edge = { stroke: "transparent", width: 0, points: nothing, spanGaps: false };
  return new Chart({
    series, viewport, read, changed, height: 340, label: "Target and prediction over time",
    lines: [
      { ...edge }, { ...edge },                                                    // 1, 2: interval, high and low
      { ...edge }, { ...edge },                                                    // 3, 4: the forecast's
      { stroke: () => colour("prediction"), width: 1.6, dash: [6, 3], points: nothing },
      { stroke: () => colour("target"), width: 1.6, points: nothing },
      { stroke: () => colour("forecast"), width: 2, dash: [2, 3], points: nothing },
    ],
    bands: [
      { series: [1, 2], fill: () => colour("band") },
      { series: [3, 4], fill: () => colour("fan") },
    ],
    columns: (all, picked, forecast) => {
      const column = (name) => picked.map((i) => orNull(all[name][i]));
      const data = [picked.map((i) => all.x[i]), column("high"), column("low"),
        picked.map(() => null), picked.map(() => null), column("prediction"), column("target"), picked.map(() => null)];
      if (forecast && picked.length) addForecast(data, all, forecast);
      return data;
    },
    range: (data) => bounds(data),
    paint: (plot, from, to) => paintAnomalies(plot, series, from, to),
  });
}

function addForecast(data, series, forecast) {
  const newest = data[0].length - 1;
  const start = data[6][newest] ?? data[5][newest];
  for (const column of [3, 4, 7]) data[column][newest] = start;
  forecast.value.forEach((value, lead) => {
    data[0].push(series.lastX + lead + 1);
    for (const column of [1, 2, 5, 6]) data[column].push(null);
    data[3].push(orNull(forecast.high?.[lead] ?? NaN));
    data[4].push(orNull(forecast.low?.[lead] ?? NaN));
    data[7].push(orNull(value ?? NaN));
  });
}

// All lines, and of the intervals as much as leaves these well in sight.
function bounds(data) {
  if (!data?.[0].length) return [0, 1];
  let low = Infinity;
  let high = -Infinity;
  const include = (column, from, to) => {
    for (const value of data[column]) {
      if (value === null) continue;
      if (value < low) low = Math.max(value, from);
      if (value > high) high = Math.min(value, to);
    }
  };
  for (const column of [6, 7]) include(column, -Infinity, Infinity);
  if (low > high) include(5, -Infinity, Infinity);
  if (low > high) return [0, 1];
  const height = high - low || Math.abs(high) || 1;
  const [least, most] = [low - 0.6 * height, high + 0.6 * height];
  for (const column of [5, 1, 2, 3, 4]) include(column, least, most);
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
