// The page: its header, the connection's state, and the view that the address names.
import { getJson, onTokenNeeded } from "./api.js";
import { announce, element } from "./dom.js";
import { KeysView } from "./keys_view.js";
import { parse } from "./route.js";
import { SeriesView } from "./series_view.js";
import { StreamsView } from "./streams_view.js";
import { startTheme } from "./theme.js";
import { View } from "./view.js";

const byId = (id) => document.getElementById(id);

// What views ask of the page around them.
const page = {
  paused: false,
  isConnected: false,
  themeVersion: 0,
  connected() {
    if (this.isConnected) return;
    const again = this.since !== undefined;
    this.isConnected = true;
    byId("connection").dataset.state = "live";
    byId("connection").textContent = "Live";
    byId("banner").hidden = true;
    if (again) announce("Connected again.", { urgent: true });
  },
  lost() {
    if (this.isConnected || this.since === undefined) {
      this.since = Date.now();
      byId("connection").dataset.state = "lost";
      byId("connection").textContent = "Not connected";
      byId("banner").textContent = "The server does not answer. What you see is what came last; the page goes on by itself when it is back.";
      byId("banner").hidden = false;
      announce("The server does not answer.", { urgent: true });
    }
    this.isConnected = false;
  },
  failed(error) {
    byId("banner").textContent = error.message;
    byId("banner").hidden = false;
  },
  missed() { byId("pause").dataset.missed = "yes"; },
};

let view = null;
let turn = 0; // of views: one that took long to open is dropped if another was asked for meanwhile

async function open() {
  const mine = ++turn;
  const route = parse(location.hash);
  view?.close();
  view = null;
  setPaused(false);
  page.isConnected = false;
  if (page.since === undefined) byId("connection").textContent = "Connecting";
  let opened = null;
  if (route.view === "streams") {
    opened = new StreamsView(page);
  } else {
    const stream = await describe(route.name, mine);
    if (mine !== turn) return;
    opened = stream ? new (stream.keys && route.key === null ? KeysView : SeriesView)(page, stream, route) : missing(route.name);
  }
  view = opened;
  document.title = `${view.title} · kalstream`;
  byId("view").replaceChildren(view.node);
  window.scrollTo(0, 0);
  if (mine > 1) view.node.querySelector("h1").focus({ preventScroll: true });
}

// The stream, when the server answers; null if there is none of that name.
async function describe(name, mine) {
  while (mine === turn) {
    try {
      const stream = await getJson(`streams/${encodeURIComponent(name)}`);
      byId("banner").hidden = true;
      return stream;
    } catch (error) {
      if (error.status && error.status < 500) return null;
      page.lost();
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
  return null;
}

function missing(name) {
  const node = element("div", { class: "empty" }, element("h1", { tabindex: "-1" }, "No such stream"),
    element("p", {}, `There is no stream "${name}". `, element("a", { href: "#/" }, "All streams")));
  return Object.assign(new View(page, "No such stream"), { node });
}

function setPaused(paused) {
  const button = byId("pause");
  page.paused = paused;
  button.setAttribute("aria-pressed", String(paused));
  button.textContent = paused ? "Resume" : "Pause";
  delete button.dataset.missed;
}

byId("pause").addEventListener("click", () => {
  setPaused(!page.paused);
  view?.pausedChanged();
});

onTokenNeeded((again) => new Promise((resolve) => {
  const dialog = byId("token-dialog");
  byId("token-text").textContent = again ? "The server does not know this token." : "This server asks for its token.";
  dialog.querySelector("form").onsubmit = (event) => {
    event.preventDefault();
    dialog.close();
    resolve(byId("token").value.trim());
    byId("token").value = "";
  };
  if (!dialog.open) dialog.showModal();
}));

byId("skip").addEventListener("click", (event) => { // the address after '#' is the view's
  event.preventDefault();
  byId("view").focus();
});
startTheme(byId("theme"), () => { page.themeVersion += 1; view?.themeChanged(); });
window.addEventListener("hashchange", open);
open();
