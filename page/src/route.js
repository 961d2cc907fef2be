// The address of every view, behind '#': '#/' all streams, '#/stream/NAME?key=K&target=T&window=600' one of them.

// Of what is known: "?key=K&window=600", or nothing.
export function query(parameters) {
  const text = String(new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined)));
  return text && `?${text}`;
}

export const address = (name, parameters = {}) => `#/stream/${encodeURIComponent(name)}${query(parameters)}`;

export function parse(hash) {
  const [path, rest = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  const match = /^\/stream\/([^/]+)$/.exec(path);
  if (!match) return { view: "streams" };
  const parameters = new URLSearchParams(rest);
  let name = match[1];
  try { name = decodeURIComponent(name); } catch { /* as it stands: there is no such stream */ }
  return { view: "stream", name, key: parameters.get("key"), target: parameters.get("target"), window: parameters.get("window") };
}
