/** Where `scripts/test-openclaw.ts` has put the real host and the packed plugin. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export interface OpenClawInstallation {
  /** The folder of the package `openclaw`. */
  readonly openClaw: string;
  /** A home in which the plugin was installed with the host's own command. */
  readonly home: string;
  /** The plugin's folder in that home. */
  readonly plugin: string;
}

/** Throws when the suites are run by anything but `scripts/test-openclaw.ts`. */
export function openClawInstallation(): OpenClawInstallation {
  const { REVEILLE_OPENCLAW: openClaw, REVEILLE_OPENCLAW_HOME: home } = process.env;
  if (!openClaw || !home) throw new Error("Run these suites with: npm run test:openclaw");
  return { openClaw, home, plugin: join(home, ".openclaw/extensions/reveille") };
}

/** Turns off what reaches out of the machine or belongs to a desktop. */
const QUIET = {
  OPENCLAW_NO_RESPAWN: "1",
  OPENCLAW_NO_AUTO_UPDATE: "1",
  OPENCLAW_SKIP_GMAIL_WATCHER: "1",
  OPENCLAW_DISABLE_BONJOUR: "1",
  OPENCLAW_SKIP_BROWSER_CONTROL_SERVER: "1",
  OPENCLAW_SKIP_CANVAS_HOST: "1",
} as const;

/** The environment that makes `home` the host's home. */
export function homeEnvironment(home: string): Record<string, string> {
  return {
    ...QUIET,
    HOME: home,
    OPENCLAW_STATE_DIR: join(home, ".openclaw"),
    OPENCLAW_CONFIG_PATH: join(home, ".openclaw/openclaw.json"),
  };
}

/** A gateway in this process. */
export interface InProcessServer {
  close(options: { reason: string }): Promise<void>;
}

/** The host's own function that starts a gateway; its file has another name in each release. */
export async function loadStartServer(openClaw: string): Promise<(port: number) => Promise<InProcessServer>> {
  for (const name of globSync("dist/server-*.{js,mjs}", { cwd: openClaw })) {
    const file = join(openClaw, name);
    if (!/^async function startGatewayServer\(/m.test(readFileSync(file, "utf8"))) continue;
    const exported = Object.values((await import(pathToFileURL(file).href)) as Record<string, unknown>);
    const start = exported.find((value) => typeof value === "function" && value.name === "startGatewayServer");
    if (start !== undefined) return start as (port: number) => Promise<InProcessServer>;
  }
  throw new Error(`No file of ${openClaw} exports startGatewayServer.`);
}
