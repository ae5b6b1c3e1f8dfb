import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OpenClawGateway, OpenClawGatewayOptions } from "../../src/hosts/openclaw/gateway.ts";

/** The entries of the bundle that the driver imports, and nothing else does. */
export const DRIVER_ENTRIES = ["hosts/openclaw/gateway", "hosts/openclaw/require-calls"] as const;

/** The id under which the host has the driver. */
export const DRIVER = "reveille-driver";

/** What the driver hands to the test once its service runs. */
export interface Driver {
  /** The installed adapter in this gateway, in the context of the service's start, with a state folder of its own. */
  open(stateDir: string, options: Omit<OpenClawGatewayOptions, "pluginId" | "loadSdk">): OpenClawGateway;
  /** The plugin's block as the gateway has it now. */
  block(): Readonly<Record<string, unknown>>;
  /** Empties the host's queues of system events. */
  forgetEvents(): void;
}

/** Where a test waits for the driver. */
export const WAITING: unique symbol = Symbol.for("reveille.openclaw.driver") as never;

/**
 * A copy of the installed package with another entry: the host loads a plugin from a copy of its own
 * package, in which nothing from outside is found.
 */
export function writeDriverPackage(folder: string, plugin: string): void {
  rmSync(folder, { recursive: true, force: true });
  cpSync(plugin, folder, { recursive: true });
  const extensions = ["./dist/driver.js"];
  const packageFile = join(folder, "package.json");
  const written = JSON.parse(readFileSync(packageFile, "utf8")) as object;
  const manifest = {
    id: DRIVER,
    name: "Driver",
    description: "Runs the plugins of a conformance suite.",
    activation: { onStartup: true },
    configSchema: { type: "object", additionalProperties: true },
  };
  const openclaw = { extensions, runtimeExtensions: extensions, compat: { pluginApi: ">=2026.1.0" } };
  writeFileSync(packageFile, JSON.stringify({ ...written, openclaw }));
  writeFileSync(join(folder, "openclaw.plugin.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "dist/driver.js"), ENTRY);
}

const [GATEWAY, REQUIRE_CALLS] = DRIVER_ENTRIES;

const ENTRY = `import { AsyncLocalStorage } from "node:async_hooks";
import { OpenClawGateway } from "./${GATEWAY}.js";
import { requireCalls } from "./${REQUIRE_CALLS}.js";

export default {
  id: "${DRIVER}",
  name: "Driver",
  description: "Runs the plugins of a conformance suite.",
  register(api) {
    api.registerReload({ noopPrefixes: ["plugins.entries.${DRIVER}.config"] });
    if (api.registrationMode !== "full") return;
    api.registerService({
      id: "${DRIVER}",
      async start(context) {
        const inService = AsyncLocalStorage.snapshot();
        const { resetSystemEventsForTest } = await import("openclaw/plugin-sdk/system-event-runtime");
        const fixed = { pluginId: "${DRIVER}", loadSdk: requireCalls };
        globalThis[Symbol.for("reveille.openclaw.driver")]({
          open: (stateDir, options) =>
            inService(() => new OpenClawGateway(api, { ...context, stateDir }, { ...options, ...fixed })),
          block: () => api.runtime.config.current().plugins?.entries?.["${DRIVER}"]?.config ?? {},
          forgetEvents: resetSystemEventsForTest,
        });
      },
      async stop() {},
    });
  },
};
`;
