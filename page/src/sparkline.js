// A line in the size of a word, on a canvas of its own.
import { colour } from "./theme.js";

export function sparkline(canvas, values, { anomalies = [], stroke = "target", zero = false } = {}) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (!width) return;
  if (canvas.width !== Math.round(width * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const shown = values.filter(Number.isFinite);
  if (shown.length < 2) return;
  const low = zero ? 0 : Math.min(...shown);
  const high = Math.max(...shown);
  const x = (i) => 3 + (i / (values.length - 1)) * (width - 6);
  const y = (value) => (high === low ? height / 2 : height - 4 - ((value - low) / (high - low)) * (height - 8));
  context.strokeStyle = colour(stroke);
  context.lineWidth = 1.4;
  context.lineJoin = "round";
  context.beginPath();
  let down = false;
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) { down = false; return; }
    if (down) context.lineTo(x(i), y(value));
    else context.moveTo(x(i), y(value));
    down = true;
  });
  context.stroke();
  context.fillStyle = colour("anomaly");
  anomalies.forEach((is, i) => {
    if (is && Number.isFinite(values[i])) diamond(context, x(i), y(values[i]), 3);
  });
}

// The sign of an anomaly, everywhere.
export function diamond(context, x, y, size) {
  context.beginPath();
  context.moveTo(x, y - size);
  context.lineTo(x + size, y);
  context.lineTo(x, y + size);
  context.lineTo(x - size, y);
  context.closePath();
  context.fill();
}
