// Numbers and times as people read them. What is not known is a dash.

const unknown = "–";
const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

// For charts, where nothing is drawn.
export const orNull = (value) => (Number.isNaN(value) || value === undefined ? null : value);

export const known = (value) => typeof value === "number" && Number.isFinite(value);

export function number(value) {
  if (!known(value)) return unknown;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(2).replace("-", "−");
  if (size >= 10000) return whole.format(value).replace("-", "−");
  return plain.format(value).replace("-", "−");
}

export const count = (value) => (known(value) ? whole.format(value) : unknown);

export const anomalies = (value) => `${count(value)} ${value === 1 ? "anomaly" : "anomalies"}`;

export const percent = (value) => (known(value) ? `${(100 * value).toFixed(value < 0.1 || value > 0.9 ? 1 : 0)} %` : unknown);

export function rate(perSecond) {
  if (!known(perSecond)) return unknown;
  if (perSecond === 0) return "0 /s";
  if (perSecond >= 1) return `${perSecond >= 100 ? whole.format(perSecond) : perSecond.toFixed(1)} /s`;
  if (perSecond * 60 >= 1) return `${(perSecond * 60).toFixed(1)} /min`;
  return `${(perSecond * 3600).toFixed(1)} /h`;
}

export function milliseconds(value) {
  if (!known(value)) return unknown;
  if (value < 1) return `${Math.round(value * 1000)} µs`;
  return value < 1000 ? `${plain.format(Number(value.toPrecision(3)))} ms` : `${(value / 1000).toFixed(1)} s`;
}

export function bytes(value) {
  if (!known(value)) return unknown;
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`;
}

// How long ago, of a moment in epoch milliseconds.
export function age(moment, now = Date.now()) {
  if (!known(moment)) return unknown;
  const seconds = Math.max(0, (now - moment) / 1000);
  if (seconds < 2) return "now";
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

// A probability of something at least so strange: the smaller, the stranger.
export function surprise(probability) {
  if (!known(probability)) return unknown;
  if (probability >= 0.1) return "ordinary";
  return `1 in ${whole.format(Number((1 / Math.max(probability, 1e-12)).toPrecision(2)))}`;
}

// How much smaller the squared error is than that of repeating the last value; null if that is not known.
export const gain = (nse, naive) => (known(nse) && known(naive) && naive > 0 ? 1 - nse / naive : null);

export function gainText(nse, naive) {
  const part = gain(nse, naive);
  if (part === null) return known(naive) ? `last value ${number(naive)}` : "";
  if (part < -1) return `${number(nse / naive)} × last value’s`;
  return part >= 0 ? `${percent(part)} below last value` : `${percent(-part)} above last value`;
}

const localClock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
export const clock = (moment) => (known(moment) ? localClock.format(moment) : unknown);

// The time a sample says it is of, as milliseconds if it is a moment, else NaN. Texts without a zone are
// taken and shown as they stand (UTC both ways).
export function parseTime(time) {
  if (typeof time === "number") {
    if (time > 6e8 && time < 4.2e9) return time * 1000;
    if (time > 6e11 && time < 4.2e12) return time;
    return NaN;
  }
  if (typeof time !== "string") return NaN;
  const iso = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d(?:\.\d+)?))?)?$/.exec(time.trim());
  if (iso) {
    const [year, month, day, hour = 0, minute = 0, second = 0] = iso.slice(1).map((part) => Number(part ?? 0));
    return Date.UTC(year, month - 1, day, hour, minute) + second * 1000;
  }
  return Date.parse(time);
}

const utc = (options) => new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...options });
const seconds = utc({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minutes = utc({ hour: "2-digit", minute: "2-digit" });
const dayAndTime = utc({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const days = utc({ day: "numeric", month: "short" });
const months = utc({ month: "short", year: "numeric" });
const whenFormat = utc({ year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });

// A tick on an axis that spans so many milliseconds.
export function tick(moment, span) {
  if (span < 600e3) return seconds.format(moment);
  if (span < 20 * 3600e3) return minutes.format(moment);
  if (span < 6 * 86400e3) return dayAndTime.format(moment);
  return (span < 300 * 86400e3 ? days : months).format(moment);
}

export const when = (moment) => whenFormat.format(moment);
