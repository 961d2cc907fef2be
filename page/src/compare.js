// Unknown values come last, whichever way the table is sorted.
export function compare(a, b, order) {
  const missing = (value) => value === null || value === undefined || Number.isNaN(value);
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  const sign = order === "asc" ? 1 : -1;
  return typeof a === "string" ? sign * a.localeCompare(b, "en", { numeric: true }) : sign * (a - b);
}
