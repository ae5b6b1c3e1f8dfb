/** Finds the calls of the host that the adapter needs. */
import semver from "semver";
import { inLoadContext } from "./async-context.ts";
import type { OpenClawApi, OpenClawSdk } from "./sdk.ts";

/** The oldest version of the host in which the adapter works: `npm run test:openclaw` runs it there. */
export const OLDEST_HOST = "2026.8.1";

/** The newest version of the host that the adapter was tested with: `npm run test:openclaw` runs it there. */
export const NEWEST_HOST = "2026.9.6";

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

const MODULE_CALLS = [["openclaw/plugin-sdk/webhook-ingress", "registerPluginHttpRoute"]] as const;

/** The modules that may export `peekSystemEventEntries`: the host promises neither. */
const PEEK_MODULES = ["openclaw/plugin-sdk/system-event-runtime", "openclaw/plugin-sdk/infra-runtime"] as const;

/**
 * The modules of the SDK, after every call was looked for. Rejects with an error that names the missing
 * ones and the version that has them; and for an older version in which they are there, since they do not
 * do there what is asked of them.
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
  const { version = "of an unknown version" } = api.runtime;
  if (missing.length > 0) {
    throw new Error(
      `This OpenClaw (${version}) lacks calls that Reveille needs: ${missing.join(", ")}. ` +
        `OpenClaw ${OLDEST_HOST} has them: update the host.`,
    );
  }
  if (semver.valid(version) !== null && semver.lt(version, OLDEST_HOST)) {
    throw new Error(`This OpenClaw (${version}) is too old for Reveille: update the host to ${OLDEST_HOST} or later.`);
  }
  found["peekSystemEventEntries"] = await findPeek(load);
  return withSecondTry(found as unknown as OpenClawSdk);
}

/** A line for the log of a host that is newer than those that the adapter was tested with. */
export function untestedHost(version: string | undefined): string | undefined {
  if (semver.valid(version) === null || !semver.gt(version ?? "", NEWEST_HOST)) return undefined;
  return `this Reveille was tested up to OpenClaw ${NEWEST_HOST}; update it if wakes or runs do not behave as documented`;
}

async function findPeek(load: (specifier: string) => Promise<unknown>): Promise<unknown> {
  for (const specifier of PEEK_MODULES) {
    const peek = at(await load(specifier).catch(() => undefined), "peekSystemEventEntries");
    if (typeof peek === "function") return peek;
  }
  return undefined;
}

/** The host's error for a route when it takes the context of the call for one of a service that has stopped. */
const STOPPED_CONTEXT = /lease is no longer active/;

/** A start in a context of before is none of ours to refuse: the route is then registered outside of it. */
function withSecondTry(sdk: OpenClawSdk): OpenClawSdk {
  return {
    ...sdk,
    registerPluginHttpRoute(route) {
      try {
        return sdk.registerPluginHttpRoute(route);
      } catch (error) {
        if (!(error instanceof Error) || !STOPPED_CONTEXT.test(error.message)) throw error;
        return inLoadContext(() => sdk.registerPluginHttpRoute(route));
      }
    },
  };
}

/** The specifier is a variable, so that no one looks for the package when this one is built or checked. */
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
