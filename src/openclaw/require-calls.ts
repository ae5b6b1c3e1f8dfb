/** Whether this version of the host has every call that the adapter needs. */
import type { OpenClawApi, OpenClawSdk } from "./openclaw-sdk.ts";

/** The oldest version of the host that the adapter was run with. */
export const OLDEST_HOST = "2026.9.6";

/** The host's calls, by the paths under which they are found. */
const RUNTIME_CALLS = [
  "config.current",
  "system.enqueueSystemEvent",
  "system.requestHeartbeat",
  "subagent.run",
  "subagent.waitForRun",
  "subagent.getSessionMessages",
  "subagent.deleteSession",
  "channel.outbound.loadAdapter",
] as const;

const MODULE_CALLS = [
  ["openclaw/plugin-sdk/webhook-ingress", "registerPluginHttpRoute"],
  ["openclaw/plugin-sdk/system-event-runtime", "peekSystemEventEntries"],
] as const;

/**
 * The modules of the SDK, after every call was looked for. Rejects with an error that names the missing
 * ones and the version that has them.
 */
export async function requireCalls(
  api: Pick<OpenClawApi, "runtime">,
  load: (specifier: string) => Promise<unknown> = importModule,
): Promise<OpenClawSdk> {
  const missing: string[] = RUNTIME_CALLS.filter((path) => typeof at(api.runtime, path) !== "function").map(
    (path) => `runtime.${path}`,
  );
  const found: Record<string, unknown> = {};
  for (const [specifier, name] of MODULE_CALLS) {
    found[name] = at(await load(specifier).catch(() => undefined), name);
    if (typeof found[name] !== "function") missing.push(`${specifier} ${name}`);
  }
  if (missing.length > 0) {
    const version = api.runtime.version ?? "of an unknown version";
    throw new Error(
      `This OpenClaw (${version}) lacks calls that Reveille needs: ${missing.join(", ")}. ` +
        `OpenClaw ${OLDEST_HOST} has them: update the host.`,
    );
  }
  return found as unknown as OpenClawSdk;
}

/** The specifier is a variable, so that nobody looks for the package when this one is built or checked. */
async function importModule(specifier: string): Promise<unknown> {
  return (await import(specifier)) as unknown;
}

function at(root: unknown, path: string): unknown {
  let value = root;
  for (const key of path.split(".")) {
    if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}
