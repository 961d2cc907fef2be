// Which part of a series is shown: its end as it grows, or a part that somebody chose.

const least = 10; // points

export class Viewport {
  constructor(span) {
    this.home = span;
    this.reset();
  }

  reset() {
    this.span = this.home; // points before the newest; Infinity: all
    this.fixed = null;     // {min, max} of x, once somebody looks elsewhere
  }

  get following() { return this.fixed === null; }

  range(series) {
    if (this.fixed) return this.fixed;
    const ahead = series.forecast?.value.length ?? 0;
    const span = Math.min(this.span, Math.max(series.lastX - series.firstX, least));
    return { min: series.lastX - span, max: series.lastX + Math.max(ahead, span * 0.015) };
  }

  hold(series) { this.fixed = { ...this.range(series) }; }

  // Factor below 1: closer. Around x, or the newest points while these are followed.
  zoom(series, factor, around = null) {
    const all = series.lastX - series.firstX;
    if (this.following) {
      const span = Math.min(this.span, all);
      this.span = Math.max(least, span * factor);
      if (this.span >= all && factor > 1) this.span = Infinity;
      return;
    }
    const { min, max } = this.fixed;
    const centre = around ?? (min + max) / 2;
    this.show(series, centre - (centre - min) * factor, centre + (max - centre) * factor);
  }

  // By a part of what is shown; going beyond the newest point follows it again.
  move(series, part) {
    const { min, max } = this.range(series);
    const by = (max - min) * part;
    if (this.following && by > 0) return;
    if (max + by > series.lastX + (max - min) * 0.1 && by > 0) {
      this.span = max - min;
      this.fixed = null;
      return;
    }
    this.show(series, min + by, max + by);
  }

  show(series, min, max) {
    const width = Math.max(max - min, least);
    const ahead = series.forecast?.value.length ?? 0;
    const left = Math.max(Math.min(min, series.lastX - width / 2), series.firstX - 1);
    this.fixed = { min: left, max: Math.min(left + width, series.lastX + ahead + width * 0.02) };
    if (this.fixed.max - this.fixed.min < least) this.fixed.max = this.fixed.min + least;
  }

  // The points were loaded again, and count from another beginning.
  shift(by) {
    if (this.fixed) this.fixed = { min: this.fixed.min + by, max: this.fixed.max + by };
  }
}
