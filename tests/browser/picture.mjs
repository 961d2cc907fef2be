// The picture of the README: `make live-picture` starts tools/live.py, looks at its hourly series, and writes docs/figures/live.png.
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, openPage } from "./browser.mjs";

const [program, out] = process.argv.slice(2);
const port = 18080;
const live = spawn(join(dirname(fileURLToPath(import.meta.url)), "../../tools/live.py"), [program, "--port", port], { stdio: ["ignore", "pipe", "inherit"] });
try {
  await new Promise((ready, failed) => {
    live.stdout.on("data", (text) => { if (String(text).includes("Look at")) ready(); });
    live.once("exit", () => failed(new Error("tools/live.py ended")));
  });
  const browser = await launch();
  const page = await openPage(browser, { base: `http://127.0.0.1:${port}` }, "#/stream/electricity?window=300",
    { viewport: { width: 1180, height: 1000 }, colorScheme: "light" });
  await page.locator(".experts li").first().waitFor();
  await page.waitForTimeout(6000); // some seconds of latency, so that there is a line of it
  await page.screenshot({ path: out });
  await browser.close();
} finally {
  live.kill("SIGTERM");
}
