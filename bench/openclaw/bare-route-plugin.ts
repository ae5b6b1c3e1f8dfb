import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The id under which the host has the plugin. */
export const BARE_ROUTE = "bare-route";
/** The path of its route: a POST is answered 202, and a GET with the number of the gateway's process. */
export const BARE_PATH = "/bare-route";

const ABOUT = { name: "Bare route", description: "The yardstick: reads a body, parses it, answers 202." };

/** The yardstick of what a plugin's route costs in the host: a plugin of one route that reads, parses and answers. */
export function writeBareRoutePlugin(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const extensions = ["./entry.js"];
  const openclaw = { extensions, runtimeExtensions: extensions, compat: { pluginApi: ">=2026.1.0" } };
  const configSchema = { type: "object", additionalProperties: false };
  const manifest = { id: BARE_ROUTE, ...ABOUT, activation: { onStartup: true }, configSchema };
  const written = { name: BARE_ROUTE, version: "1.0.0", type: "module", openclaw };
  writeFileSync(join(folder, "package.json"), JSON.stringify(written));
  writeFileSync(join(folder, "openclaw.plugin.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "entry.js"), ENTRY);
}

const ENTRY = `const answer = JSON.stringify({ ok: true });
const headers = { "content-type": "application/json; charset=utf-8", "content-length": Buffer.byteLength(answer) };

async function handler(req, res) {
  if (req.method === "GET") return void res.end(String(process.pid));
  const chunks = [];
  await new Promise((resolve, reject) => {
    req.on("data", (chunk) => chunks.push(chunk));
    req.on("end", resolve);
    req.on("error", reject);
  });
  JSON.parse(Buffer.concat(chunks).toString("utf8"));
  res.writeHead(202, headers);
  res.end(answer);
}

export default {
  id: "${BARE_ROUTE}",
  name: "${ABOUT.name}",
  description: "${ABOUT.description}",
  register(api) {
    if (api.registrationMode === "full") api.registerHttpRoute({ path: "${BARE_PATH}", auth: "plugin", handler });
  },
};
`;
