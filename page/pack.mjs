// node pack.mjs OUT [NODE_MODULES]: writes the page as OUT/page.html, one file without any other request, and the content
// security policy that allows exactly its style and script as OUT/policy.txt; and both as C++, OUT/live_page.cc
// (cmake/Page.cmake).
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

if (process.argv.slice(2).some((argument) => argument.startsWith("-"))) {
  console.error("usage: node pack.mjs OUT [NODE_MODULES]");
  process.exit(2);
}
const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "dist"));
const modules = resolve(process.argv[3] ?? join(here, "node_modules"));
const require = createRequire(join(modules, "any.js"));
const { build } = require("esbuild");

// uPlot offers kinds of lines that the page does not draw; what nobody names is left out.
const lean = {
  name: "lean",
  setup: ({ onLoad }) => onLoad({ filter: /uPlot\.esm\.js$/ }, ({ path }) => ({
    contents: readFileSync(path, "utf8").replace(/^\s*\(paths\.(stepped|bars|spline)\s*=.*$|^\s*uPlot\.join = join;$/gm, ""),
  })),
};
const options = { bundle: true, minify: true, write: false, target: "es2021", nodePaths: [modules], legalComments: "none", charset: "utf8", plugins: [lean] };
const text = async (entry, more = {}) =>
  (await build({ ...options, ...more, entryPoints: [join(here, entry)] })).outputFiles[0].text.trim();
const script = (await text("src/main.js", { format: "iife" })).replaceAll("</script", "<\\/script");
const style = await text("style.css");
const licence = readFileSync(join(modules, "uplot/LICENSE"), "utf8").split("\n").find((line) => line.startsWith("Copyright"));

const hash = (content) => `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
const html = readFileSync(join(here, "index.html"), "utf8").replace(/\n\s*/g, "\n")
  .replace("<!--style-->", () => `<style>${style}</style>`)
  .replace("<!--script-->", () => `<!-- With uPlot (MIT licence). ${licence} -->\n<script>${script}</script>`);
const policy = ["default-src 'none'", `script-src ${hash(script)}`, `style-src ${hash(style)}`, "connect-src 'self'", "img-src data:",
  "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"].join("; ");

mkdirSync(out, { recursive: true });
writeFileSync(join(out, "page.html"), html);
writeFileSync(join(out, "policy.txt"), policy);
const bytes = (content) => [...Buffer.from(content)].join(",").replace(/(.{110}\d*,)/g, "$1\n");
writeFileSync(join(out, "live_page.cc"), `// Written by page/pack.mjs.
#include "page/live_page.h"

namespace {
constexpr unsigned char html[] = {\n${bytes(html)}};
constexpr unsigned char policy[] = {\n${bytes(policy)}};
std::string_view text(const unsigned char* bytes, std::size_t size) { return {reinterpret_cast<const char*>(bytes), size}; }
}  // namespace

kalstream::LivePage kalstream::live_page() { return {text(html, sizeof html), text(policy, sizeof policy)}; }
`);
const most = 100_000;
if (Buffer.byteLength(html) > most) throw new Error(`The page has ${Buffer.byteLength(html)} bytes, more than ${most}.`);
