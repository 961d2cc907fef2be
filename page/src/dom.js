// Small helpers around the document. Text always becomes a text node: names, keys and messages are
// never read as markup.

// element("p", {class: "note", onclick: f, "aria-label": "…"}, child, …)
export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Sets the text of a node if it is another than before: what stands still costs no layout.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// What screen readers are told, at most every few seconds unless it is urgent.
let lastSaid = 0;
export function announce(text, { urgent = false } = {}) {
  const now = performance.now();
  if (!urgent && now - lastSaid < 15000) return;
  lastSaid = now;
  setText(document.getElementById("announcements"), text);
}

export const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

// redrawer(draw): a function that asks for a redraw. However often it is called, `draw` runs in an
// animation frame, with at least `pause` milliseconds between two; one that was stopped never draws again.
export function redrawer(draw, pause = 50) {
  let waiting = false;
  let stopped = false;
  let last = -Infinity;
  const request = () => {
    if (waiting || stopped) return;
    waiting = true;
    const wait = Math.max(0, last + (reducedMotion.matches ? Math.max(pause, 1000) : pause) - performance.now());
    const frame = () => requestAnimationFrame(() => {
      waiting = false;
      if (stopped) return;
      last = performance.now();
      draw();
    });
    if (wait > 0) setTimeout(frame, wait);
    else frame();
  };
  request.stop = () => { stopped = true; };
  return request;
}
