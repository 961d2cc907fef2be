// A `kalstream serve` of a test's own: its process, its port, its folder.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const program = resolve(process.env.KALSTREAM ?? "../../build/release/kalstream");
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });

function freePort() {
  return new Promise((found) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}

// Waits until `condition` gives something true, and gives that.
export async function until(condition, what, seconds = 60) {
  const end = Date.now() + 1000 * seconds;
  for (;;) {
    const result = await condition();
    if (result) return result;
    if (Date.now() > end) throw new Error(`not within ${seconds} s: ${what}`);
    await new Promise((again) => setTimeout(again, 20));
  }
}

export class Service {
  static async start(options = []) {
    const service = new Service();
    service.options = options;
    service.store = mkdtempSync(join(tmpdir(), "kalstream-page-"));
    service.port = await freePort();
    service.base = `http://127.0.0.1:${service.port}`;
    await service.run();
    return service;
  }

  // Starts the process; again with the same port and folder after `kill`.
  async run() {
    this.errors = "";
    this.process = spawn(program, ["serve", "--port", this.port, "--store", join(this.store, "state"), ...this.options], { stdio: ["ignore", "ignore", "pipe"] });
    this.process.stderr.on("data", (text) => { this.errors += text; });
    this.ended = new Promise((done) => { this.process.once("exit", done); });
    await until(async () => {
      if (this.process.exitCode !== null) throw new Error(`${program} serve ended: ${this.errors}`);
      return (await this.request("GET", "/readyz").catch(() => ({}))).status === 200;
    }, "the server is ready");
  }

  async kill(signal = "SIGKILL") {
    this.process.kill(signal);
    await this.ended;
  }

  async stop() {
    await this.kill("SIGTERM");
    rmSync(this.store, { recursive: true, force: true });
  }

  request(method, path, body = null, headers = {}) {
    return new Promise((answered, failed) => {
      const request = http.request(this.base + path, { method, agent, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part) => { text += part; });
        response.on("end", () => answered({ status: response.statusCode, headers: response.headers, text }));
      });
      request.on("error", failed);
      request.end(body);
    });
  }

  async json(method, path, value) {
    const { status, text } = await this.request(method, path, JSON.stringify(value), { "Content-Type": "application/json", ...this.headers });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  create(stream, options) { return this.json("PUT", `/api/v1/streams/${stream}`, options); }

  async send(stream, samples) { return (await this.json("POST", `/api/v1/streams/${stream}/samples`, samples)).answers; }
}

// A wave with a little noise, always the same: sample number i of a stream that begins at `phase`.
export function wave(i, phase = 0) {
  const noise = Math.sin(12.9898 * (i + 7 * phase)) * 43758.5453;
  return 20 + 8 * Math.sin((i + 40 * phase) / 20) + 2 * Math.sin((i + 40 * phase) / 5) + (noise - Math.floor(noise) - 0.5);
}
