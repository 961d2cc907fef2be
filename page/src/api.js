// What the page asks of the server: JSON, and events that come as they happen.
import { query } from "./route.js";

const base = "api/v1/";
let token = read("kalstream-token");
let askForToken = null;

function read(name) {
  try { return sessionStorage.getItem(name); } catch { return null; }
}

// How to ask for the token, where the server wants one: a function that gives a promise of it.
export function onTokenNeeded(ask) { askForToken = ask; }

async function request(path, options = {}) {
  for (;;) {
    const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    const response = await fetch(base + path, { ...options, headers, cache: "no-store" });
    if (response.status !== 401 || !askForToken) return response;
    token = await askForToken(token !== null);
    try { sessionStorage.setItem("kalstream-token", token); } catch { /* asked again next time */ }
  }
}

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function failure(response) {
  let message = `The server answered ${response.status}.`;
  try { message = (await response.json()).error.message; } catch { /* not JSON: the status has to do */ }
  return new ApiError(response.status, message);
}

export async function getJson(path, parameters = {}, signal = undefined) {
  const response = await request(path + query(parameters), { signal });
  if (!response.ok) throw await failure(response);
  return response.json();
}

const silence = 45000; // the server says at least "still here" every 15 s
const sleep = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  const now = () => { clearTimeout(timer); resolve(); };
  signal.addEventListener("abort", now, { once: true });
  window.addEventListener("online", now, { once: true });
});

// follow(parameters, {open, event, lost, refused}): reads the server's events until the returned function is
// called, and comes back by itself when the connection is lost. `open` is called at the beginning of each connection,
// `event(name, data)` for every event.
export function follow(parameters, { open, event, lost, refused }) {
  const stop = new AbortController();
  (async () => {
    for (let wait = 500; !stop.signal.aborted; wait = Math.min(2 * wait, 5000)) {
      const connection = new AbortController();
      const end = () => connection.abort();
      stop.signal.addEventListener("abort", end, { once: true });
      let watch = setTimeout(end, silence);
      try {
        const response = await request(`events${query(parameters)}`,
          { headers: { Accept: "text/event-stream" }, signal: connection.signal });
        if (!response.ok) throw await failure(response);
        open();
        wait = 250;
        await readEvents(response.body, event, () => { clearTimeout(watch); watch = setTimeout(end, silence); });
        lost();
      } catch (error) {
        if (stop.signal.aborted) return;
        if (error instanceof ApiError && error.status < 500 && error.status !== 429) refused(error);
        else lost();
      } finally {
        clearTimeout(watch);
        end();
        stop.signal.removeEventListener("abort", end);
      }
      if (!stop.signal.aborted) await sleep(wait, stop.signal);
    }
  })();
  return () => stop.abort();
}

async function readEvents(body, event, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heard();
    text += value.replaceAll("\r", "");
    let began = performance.now();
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      deliver(text.slice(0, end), event);
      text = text.slice(end + 2);
      if (performance.now() - began > 10) { // a flood of events leaves room for drawing and typing
        await new Promise((resolve) => setTimeout(resolve));
        began = performance.now();
      }
    }
  }
}

function deliver(block, event) {
  let name = "message";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data += line.slice(5);
  }
  if (data !== "") event(name, JSON.parse(data));
}
