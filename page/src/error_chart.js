// The running error of the predictions beside that of repeating the last value.
import { Chart } from "./chart.js";
import { orNull } from "./format.js";
import { colour } from "./theme.js";

export function errorChart({ series, viewport, read, changed }) {
  return new Chart({
    series, viewport, read, changed, height: 170, label: "Error over time, beside that of repeating the last value",
    lines: [
      { stroke: () => colour("naive"), dash: [2, 3], points: { show: false } },
      { stroke: () => colour("prediction"), points: { show: false } },
    ],
    columns: (all, picked) => {
      all.score();
      const error = picked.map((i) => orNull(all.error[i]));
      return { x: picked.map((i) => all.x[i]), lines: [picked.map((i) => orNull(all.naive[i])), error],
        areas: [{ low: error.map((value) => (value === null ? null : 0)), high: error, fill: colour("band") }] };
    },
    range: (drawn) => {
      let most = 0;
      for (const line of drawn?.lines ?? []) for (const value of line) if (value > most) most = value;
      return [0, most * 1.08 || 1];
    },
  });
}
