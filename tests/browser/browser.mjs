// Debian's Chromium, and pages in it whose errors are noticed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
  });
}

// A page with an address of the service, whose complaints are kept in page.faults: errors in the console, exceptions, dialogs,
// and requests to anywhere but the service.
export async function openPage(browser, service, hash = "#/", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on("console", (message) => {
    // That a killed server does not answer is no fault of the page; the browser writes it down all the same.
    if (message.type() === "error" && !/net::ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED|CONNECTION_RESET|EMPTY_RESPONSE)/.test(message.text())) page.faults.push(message.text());
  });
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("dialog", (dialog) => { page.faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    if (!request.url().startsWith(service.base) && !request.url().startsWith("data:")) page.faults.push(`request to ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.longTasks = [];
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.longTasks.push(entry.duration); })
      .observe({ type: "longtask", buffered: true });
  });
  await page.goto(`${service.base}/${hash}`);
  return page;
}

// What axe-core finds on the page as it is, serious or worse.
export async function accessibilityFaults(page) {
  // As a test, not as the page: its policy would rightly not let a script in.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axeSource });
  const { result } = await session.send("Runtime.evaluate", { awaitPromise: true, returnByValue: true,
    expression: "axe.run().then((found) => found.violations.map(({id, impact, nodes}) => ({id, impact, nodes: nodes.map((node) => node.html + ' ' + node.failureSummary)})))" });
  await session.detach();
  return result.value.filter(({ impact }) => impact === "serious" || impact === "critical");
}

export async function closePage(page) {
  assert.deepEqual(page.faults, []);
  await page.context().close();
}
