// The running error of the predictions beside that of repeating the last value.
import { Chart } from "./chart.js";
import { colour } from "./theme.js";

const orNull = (value) => (Number.isNaN(value) ? null : value);

export function errorChart({ series, viewport, read, changed }) {
  return new Chart({
    series, viewport, read, changed, height: 170, label: "Error over time, beside that of repeating the last value",
    lines: [
      { stroke: () => colour("naive"), width: 1.6, dash: [2, 3], points: { show: false } },
      { stroke: () => colour("prediction"), width: 1.8, points: { show: false }, fill: () => colour("band") },
    ],
    columns: (all, picked) => {
      all.score();
      return [picked.map((i) => all.x[i]), picked.map((i) => orNull(all.naive[i])), picked.map((i) => orNull(all.error[i]))];
    },
    range: (data) => {
      let most = 0;
      for (const column of [1, 2]) for (const value of data?.[column] ?? []) if (value !== null && value > most) most = value;
      return [0, most * 1.08 || 1];
    },
  });
}
