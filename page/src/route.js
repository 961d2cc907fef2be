// The address of every view, behind '#': '#/' all streams, '#/stream/NAME?key=K&target=T&window=600' one of them.

export function address(name, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  const rest = String(new URLSearchParams(given));
  return `#/stream/${encodeURIComponent(name)}${rest ? `?${rest}` : ""}`;
}

export function parse(hash) {
  const [path, rest = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  const match = /^\/stream\/([^/]+)$/.exec(path);
  if (!match) return { view: "streams" };
  const parameters = new URLSearchParams(rest);
  let name = match[1];
  try { name = decodeURIComponent(name); } catch { /* as it stands: there is no such stream */ }
  return { view: "stream", name, key: parameters.get("key"), target: parameters.get("target"), window: parameters.get("window") };
}
