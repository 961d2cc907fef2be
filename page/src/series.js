// The points of one stream (or one key of it), in typed columns of fixed size. When they are full, the older half
// is thinned: the newest are always complete, old ones get coarser, and memory never grows.

const columns = ["x", "sample", "at", "time", "target", "prediction", "low", "high", "surprise", "error", "naive"];
const memory = 50; // samples that the running errors look back, about

const orNaN = (value) => (typeof value === "number" ? value : NaN);

export class Series {
  constructor(capacity = 32768) {
    this.capacity = capacity;
    for (const name of columns) this[name] = new Float64Array(capacity);
    this.anomaly = new Uint8Array(capacity);
    this.clear();
  }

  clear() {
    this.size = 0;
    this.total = 0;
    this.scored = 0; // points up to here have their running errors
    this.stride = 2; // of older points one in so many is kept
    this.forecast = null;
    this.hasTime = false;
  }

  get last() { return this.size - 1; }
  get firstX() { return this.size ? this.x[0] : 0; }
  get lastX() { return this.size ? this.x[this.last] : 0; }

  // Adds a point that is newer than all others; false if it is not.
  append(point, parseTime) {
    if (this.size && point.sample <= this.sample[this.last]) return false;
    if (this.size === this.capacity) this.thin();
    const at = this.size++;
    this.x[at] = this.total++;
    this.sample[at] = point.sample;
    this.at[at] = orNaN(point.at);
    this.time[at] = parseTime(point.time);
    this.hasTime ||= !Number.isNaN(this.time[at]);
    for (const name of ["target", "prediction", "low", "high", "surprise"]) this[name][at] = orNaN(point[name]);
    this.anomaly[at] = point.anomaly ? 1 : 0;
    return true;
  }

  // A target that came late; false if its point is gone.
  label(label) {
    const at = this.find(this.sample, label.sample);
    if (at < 0 || this.sample[at] !== label.sample) return false;
    this.target[at] = orNaN(label.target);
    this.surprise[at] = orNaN(label.surprise);
    this.anomaly[at] = label.anomaly ? 1 : 0;
    this.scored = Math.min(this.scored, at);
    return true;
  }

  // The last index whose value is not above `value`, in a column that grows; -1 if there is none.
  find(column, value) {
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (column[middle] <= value) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  // Of each `stride` points of the older half one stays: an anomaly, else the one farthest from the one before. The
  // stride grows with what there is, so that the beginning is never lost, only coarser.
  thin() {
    this.score();
    const half = this.capacity >> 1;
    while ((this.x[half - 1] - this.x[0]) / this.stride > this.capacity / 4) this.stride *= 2;
    let kept = 0;
    let stretch = NaN;
    for (let i = 0; i < half; i += 1) {
      const own = Math.floor(this.x[i] / this.stride);
      if (own === stretch && !this.outdoes(i, kept - 1)) continue;
      if (own !== stretch) kept += 1;
      stretch = own;
      for (const name of columns) this[name][kept - 1] = this[name][i];
      this.anomaly[kept - 1] = this.anomaly[i];
    }
    for (const name of columns) this[name].copyWithin(kept, half, this.size);
    this.anomaly.copyWithin(kept, half, this.size);
    this.size -= half - kept;
    this.scored = this.size;
  }

  outdoes(i, other) {
    if (this.anomaly[i] !== this.anomaly[other]) return this.anomaly[i] > this.anomaly[other];
    const before = other > 0 ? this.target[other - 1] : NaN;
    return Math.abs(this.target[i] - before) > Math.abs(this.target[other] - before);
  }

  // Running errors (root of the mean square) of the predictions and of repeating the last value.
  score() {
    if (this.scored >= this.size) return;
    let start = this.scored;
    let before = start - 1;
    while (before >= 0 && Number.isNaN(this.target[before])) before -= 1;
    let lastTarget = before >= 0 ? this.target[before] : NaN;
    for (; start < this.size; start += 1) {
      const target = this.target[start];
      this.error[start] = follow(this.error[start - 1], target - this.prediction[start], start);
      this.naive[start] = follow(this.naive[start - 1], target - lastTarget, start);
      if (!Number.isNaN(target)) lastTarget = target;
    }
    this.scored = this.size;
  }
}

function follow(before, error, index) {
  if (Number.isNaN(error)) return before ?? NaN;
  if (before === undefined || Number.isNaN(before)) return Math.abs(error);
  const share = Math.max(1 / memory, 1 / (index + 1));
  return Math.sqrt((1 - share) * before * before + share * error * error);
}

// Which points of [from, to] to draw in so many columns of pixels: all, or of each column the lowest and highest target.
export function pick(series, from, to, width) {
  const picked = [];
  const points = to - from + 1;
  if (points <= 3 * width) {
    for (let i = from; i <= to; i += 1) picked.push(i);
    return picked;
  }
  const { target } = series;
  for (let column = 0; column < width; column += 1) {
    const begin = from + Math.floor((column * points) / width);
    const end = from + Math.floor(((column + 1) * points) / width);
    let low = begin;
    let high = begin;
    for (let i = begin + 1; i < end; i += 1) {
      if (target[i] < target[low]) low = i;
      if (target[i] > target[high]) high = i;
    }
    picked.push(Math.min(low, high));
    if (low !== high) picked.push(Math.max(low, high));
  }
  if (picked[picked.length - 1] !== to) picked.push(to);
  return picked;
}
