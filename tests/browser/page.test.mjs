// The live page in a real browser, on a real server: make test-browser.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { accessibilityFaults, closePage, launch, openPage } from "./browser.mjs";
import { Service, until, wave } from "./service.mjs";

const attack = `<img src=x onerror=alert(1)>"'&</script><script>alert(2)</script>`;
const options = { learner: "rls", target: "y", interval: 0.9, surprise: true, alarm_rate: 0.001 };
const samples = (from, count, phase = 0) =>
  Array.from({ length: count }, (_, i) => ({ x: wave(from + i - 1, phase), y: wave(from + i, phase) }));
const significant = (value) => new Intl.NumberFormat("en", { maximumSignificantDigits: 4 }).format(value).replace("-", "−");

let browser;
let service;

before(async () => {
  browser = await launch();
  service = await Service.start();
});

after(async () => {
  await browser?.close();
  await service?.stop();
});

const text = (page, selector) => page.locator(selector).textContent();
const hasText = (page, selector, wanted) =>
  until(async () => (await text(page, selector)).includes(wanted), `"${wanted}" in ${selector}`);

// How many pixels of the chart have about this colour.
const pixels = (page, chart, variable) => page.evaluate(([selector, name]) => {
  const canvas = document.querySelector(`${selector} canvas`);
  if (!canvas) return 0; // not drawn yet
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] > 200 && Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 30) found += 1;
  }
  return found;
}, [chart, variable]);
const firstChart = '[aria-label="Target and prediction over time"]';

describe("a stream's view", () => {
  it("draws what the service answered, and goes on as samples come", async () => {
    await service.create("wave", { ...options, horizon: 12 });
    const answers = await service.send("wave", samples(0, 400));
    const page = await openPage(browser, service, "#/stream/wave");
    const newest = answers.at(-1);
    await hasText(page, ".readout", `target ${significant(newest.target)} · predicted ${significant(newest.prediction)}`);
    await hasText(page, ".readout", `between ${significant(newest.interval[0])} and ${significant(newest.interval[1])}`);
    await until(async () => (await pixels(page, firstChart, "--target")) > 300, "the target's line is drawn");
    assert.ok(await pixels(page, firstChart, "--prediction") > 30, "the prediction's line is drawn");
    assert.ok(await pixels(page, firstChart, "--forecast") > 10, "the forecast is drawn");
    await page.locator("summary").click();
    const rows = page.locator("details tbody tr");
    await until(async () => (await rows.count()) === 20, "the table has the newest values");
    for (const [i, answer] of answers.slice(-20).reverse().entries()) {
      const cells = await rows.nth(i).locator("td").allTextContents();
      assert.deepEqual([cells[0], cells[2], cells[3]], [answer.sample.toLocaleString("en"), significant(answer.target), significant(answer.prediction)]);
    }
    const [next] = await service.send("wave", samples(400, 1));
    await hasText(page, ".readout", `sample ${next.sample} · target ${significant(next.target)} · predicted ${significant(next.prediction)}`);
    await hasText(page, '[data-tile="target"]', significant(next.target));
    await closePage(page);
  });

  it("marks an anomaly", async () => {
    await service.create("spike", options);
    await service.send("spike", samples(0, 1500));
    await service.send("spike", [{ x: wave(1499), y: 500, anomaly_hint: 1 }]);
    const page = await openPage(browser, service, "#/stream/spike");
    await hasText(page, ".readout", "anomaly");
    await until(async () => (await pixels(page, firstChart, "--anomaly")) > 20, "a diamond is drawn");
    await page.locator('[data-tile="surprise"][data-state="alarm"]').waitFor();
    await closePage(page);
  });

  it("shows the target that is chosen", async () => {
    await service.create("two", { ...options, target: "a,b" });
    await service.send("two", Array.from({ length: 50 }, (_, i) => ({ x: i, a: wave(i), b: 1000 + wave(i, 1) })));
    const page = await openPage(browser, service, "#/stream/two");
    await hasText(page, ".readout", `target ${significant(wave(49))}`);
    await page.getByLabel("Target", { exact: true }).selectOption("b");
    await hasText(page, ".readout", `target ${significant(1000 + wave(49, 1))}`);
    assert.match(page.url(), /target=b/);
    await closePage(page);
  });

  it("takes in a target that comes late", async () => {
    await service.create("late", options);
    await service.send("late", [...samples(0, 40), { id: "a", x: 1 }]);
    const page = await openPage(browser, service, "#/stream/late");
    await hasText(page, ".readout", "sample 41 · target – ");
    await service.send("late", [{ id: "a", y: 12.5 }]);
    await hasText(page, ".readout", "sample 41 · target 12.5 ");
    await closePage(page);
  });

  it("stands still while paused, and catches up", async () => {
    await service.create("pause", options);
    await service.send("pause", samples(0, 100));
    const page = await openPage(browser, service, "#/stream/pause");
    await hasText(page, ".readout", "sample 100 ");
    await page.getByRole("button", { name: "Pause" }).click();
    await service.send("pause", samples(100, 5));
    await until(async () => (await page.locator("#pause").getAttribute("data-missed")) === "yes", "the page tells that there is more");
    assert.match(await text(page, ".readout"), /sample 100 /);
    await page.getByRole("button", { name: "Resume" }).click();
    await hasText(page, ".readout", "sample 105 ");
    await closePage(page);
  });

  it("is worked by the keyboard", async () => {
    const page = await openPage(browser, service, "#/stream/wave");
    await until(async () => (await pixels(page, firstChart, "--target")) > 300, "the chart is drawn");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.id), "skip");
    await page.locator(firstChart).focus();
    const away = () => page.locator("button.away").count();
    await page.keyboard.press("ArrowLeft");
    await until(async () => (await away()) === 1, "the chart went back in time");
    await page.keyboard.press("0");
    await until(async () => (await away()) === 0, "the chart is at the newest points again");
    const lines = await pixels(page, firstChart, "--target");
    for (let i = 0; i < 6; i += 1) await page.keyboard.press("+");
    await until(async () => (await pixels(page, firstChart, "--target")) !== lines, "the chart is closer");
    const outline = await page.locator(firstChart).evaluate((node) => getComputedStyle(node).outlineStyle);
    assert.equal(outline, "solid", "one sees where the keyboard is");
    await closePage(page);
  });

  it("zooms where the pointer drags, and back", async () => {
    const page = await openPage(browser, service, "#/stream/wave");
    await until(async () => (await pixels(page, firstChart, "--target")) > 300, "the chart is drawn");
    const box = await page.locator(`${firstChart} .u-over`).boundingBox();
    await page.mouse.move(box.x + 200, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + 400, box.y + 120, { steps: 4 });
    await page.mouse.up();
    await until(async () => (await page.locator("button.away").count()) === 1, "a part is shown");
    await page.getByRole("button", { name: "Live: back to the newest points" }).click();
    await until(async () => (await page.locator("button.away").count()) === 0, "the newest points are shown");
    await closePage(page);
  });
});

describe("keys", () => {
  before(async () => {
    await service.create("devices", { ...options, key: "device" });
    const lines = [];
    for (let key = 0; key < 60; key += 1) {
      for (let i = 0; i <= key; i += 1) lines.push({ device: `device-${String(key).padStart(2, "0")}`, x: wave(i - 1, key), y: wave(i, key) });
    }
    await service.send("devices", [...lines, { device: attack, x: 1, y: 2 }]);
  });

  const keys = (page) => page.locator("tbody a").allTextContents();

  it("are searched and sorted, and lead to their own view", async () => {
    const page = await openPage(browser, service, "#/stream/devices");
    await until(async () => (await keys(page)).length === 25, "keys are listed");
    assert.match(await text(page, ".where"), /of 61/);
    await page.getByRole("button", { name: "Samples" }).click();
    await until(async () => (await keys(page))[0] === "device-59", "the one with most samples is first");
    await page.getByRole("button", { name: "Samples" }).press("Enter");
    await until(async () => (await keys(page)).slice(0, 2).includes("device-00"), "those with least are first");
    await page.getByRole("button", { name: "Next" }).click();
    await until(async () => (await text(page, ".where")).startsWith("26 to 50"), "the next keys");
    await page.getByRole("searchbox").fill("ice-4");
    await until(async () => (await keys(page)).length === 10, "ten keys have that in them");
    await page.getByRole("link", { name: "device-42" }).click();
    await hasText(page, "h1", "device-42");
    await hasText(page, ".readout", `target ${significant(wave(42, 42))}`);
    await closePage(page);
  });

  it("are text, whatever is in them", async () => {
    const page = await openPage(browser, service, "#/stream/devices");
    await page.getByRole("searchbox").fill("<img");
    await until(async () => (await keys(page)).length === 1, "the attack is found");
    assert.deepEqual(await keys(page), [attack]);
    await page.locator("tbody a").click();
    await until(async () => (await text(page, "h1")) === attack, "its view opens");
    await hasText(page, ".readout", "target 2");
    assert.equal(await page.title(), `${attack} · devices · kalstream`);
    assert.equal(await page.locator("img").count(), 0);
    await page.reload();
    await until(async () => (await text(page, "h1")) === attack, "its address leads there again");
    await closePage(page);
  });

  it("in the place of a stream's name are refused, and text as well", async () => {
    const answer = await service.request("POST", `/api/v1/streams/${encodeURIComponent(attack)}/samples`, "{}", { "Content-Type": "application/json" });
    assert.ok(answer.status === 400 || answer.status === 404, `answered ${answer.status}`);
    const page = await openPage(browser, service, `#/stream/${encodeURIComponent(attack)}`);
    await hasText(page, "h1", "No such stream");
    assert.match(await text(page, "main"), /<img src=x onerror=alert\(1\)>/);
    assert.equal(await page.locator("main img, main script").count(), 0);
    page.faults = page.faults.filter((fault) => !/status of 40[04]/.test(fault));
    await closePage(page);
  });
});

describe("all streams", () => {
  it("are listed, searched and sorted, live", async () => {
    const page = await openPage(browser, service);
    const names = () => page.locator("tbody a").allTextContents();
    await until(async () => (await names()).includes("wave"), "streams are listed");
    await page.getByRole("searchbox").fill("spi");
    await until(async () => (await names()).join() === "spike", "one is found");
    await page.getByRole("searchbox").fill("");
    await page.getByRole("button", { name: "Samples" }).click();
    await until(async () => (await names())[0] === "devices", "the one with most samples is first");
    await service.create("newcomer", options);
    await service.send("newcomer", samples(0, 30));
    await until(async () => (await names()).includes("newcomer"), "a new stream appears by itself");
    await until(async () => page.evaluate(() => [...document.querySelectorAll("canvas.spark")].some((canvas) => canvas.width > 0 &&
      canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte > 0))), "small lines are drawn");
    await closePage(page);
  });

  it("fit a phone, and so does one of them", async () => {
    for (const hash of ["#/", "#/stream/wave", "#/stream/devices"]) {
      const page = await openPage(browser, service, hash, { viewport: { width: 360, height: 740 }, hasTouch: true });
      await until(async () => (await page.locator("tbody tr, .readout").count()) > 0, "something is shown");
      await page.locator("h1").waitFor();
      const { wide, screen } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, screen: window.innerWidth }));
      assert.ok(wide <= screen, `${hash} is ${wide} wide on a screen of ${screen}`);
      await closePage(page);
    }
  });

  it("are dark where the system is, or where one says so", async () => {
    const page = await openPage(browser, service, "#/", { colorScheme: "dark" });
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(await ground(), "rgb(17, 21, 26)");
    await page.locator("#theme").click();
    assert.equal(await ground(), "rgb(245, 246, 248)");
    await page.reload();
    assert.equal(await ground(), "rgb(245, 246, 248)", "the choice is kept");
    await page.locator("#theme").click();
    assert.equal(await ground(), "rgb(17, 21, 26)");
    await closePage(page);
  });
});

it("has no serious fault that axe-core finds", async () => {
  for (const colorScheme of ["light", "dark"]) {
    for (const hash of ["#/", "#/stream/wave", "#/stream/devices"]) {
      const page = await openPage(browser, service, hash, { colorScheme });
      await until(async () => (await page.locator("tbody tr, .readout").count()) > 0, "something is shown");
      if (hash === "#/stream/wave") await page.locator("summary").click();
      assert.deepEqual(await accessibilityFaults(page), [], `${hash}, ${colorScheme}`);
      await closePage(page);
    }
  }
});

it("says that the server is gone, and comes back by itself", async () => {
  const own = await Service.start();
  try {
    await own.create("wave", options);
    await own.send("wave", samples(0, 100));
    const page = await openPage(browser, own, "#/stream/wave");
    await hasText(page, ".readout", "sample 100 ");
    await own.kill();
    await hasText(page, "#banner", "does not answer");
    await hasText(page, "#connection", "Not connected");
    await own.run();
    const [answer] = await own.send("wave", samples(100, 1));
    await hasText(page, "#connection", "Live");
    await hasText(page, ".readout", `sample 101 · target ${significant(answer.target)} · predicted ${significant(answer.prediction)}`);
    assert.equal(await page.locator("#banner").isVisible(), false);
    await closePage(page);
  } finally {
    await own.stop();
  }
});

it("asks for the token of a server that has one", async () => {
  const folder = mkdtempSync(join(tmpdir(), "kalstream-token-"));
  const token = "0123456789abcdef0123456789abcdef";
  writeFileSync(join(folder, "token"), `${token}\n`, { mode: 0o600 });
  const own = await Service.start(["--token-file", join(folder, "token")]);
  own.headers = { Authorization: `Bearer ${token}` };
  try {
    await own.create("wave", options);
    await own.send("wave", samples(0, 20));
    const page = await openPage(browser, own, "#/stream/wave");
    await page.locator("#token").fill("not this one");
    await page.getByRole("button", { name: "Go on" }).click();
    await hasText(page, "#token-text", "does not know");
    await page.locator("#token").fill(token);
    await page.getByRole("button", { name: "Go on" }).click();
    await hasText(page, ".readout", "sample 20 ");
    assert.ok(!page.url().includes(token));
    page.faults = page.faults.filter((fault) => !/status of 401/.test(fault));
    await closePage(page);
  } finally {
    await own.stop();
    rmSync(folder, { recursive: true });
  }
});
