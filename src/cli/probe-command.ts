/** `reveille probe`. */
import type { HookStates, ProbeResult } from "../index.ts";
import { askGateway, reachGateway } from "./gateway-client.ts";
import type { GatewayCommandOptions } from "./gateway.ts";
import type { CliIo } from "./io.ts";
import { printable } from "./terminal-text.ts";

export interface ProbeCommandOptions extends GatewayCommandOptions {
  readonly json?: boolean;
}

const DETAIL_CHARS = 300;

/**
 * Lets the running gateway send a signed sample through its public URL to a mapping, or to each one with a route.
 * Resolves with the exit code: 0 when all arrive.
 */
export async function probe(mapping: string | undefined, options: ProbeCommandOptions, io: CliIo): Promise<number> {
  const access = await reachGateway(options, io);
  const { mappings } = await askGateway<HookStates>(access, "/hooks");
  const wanted =
    mapping === undefined ? mappings.filter(({ route }) => route !== null).map(({ scope }) => scope) : [mapping];
  const results: ProbeResult[] = [];
  for (const scope of wanted) {
    const path = `/hooks/${encodeURIComponent(scope)}/probe`;
    const result = await askGateway<ProbeResult>(access, path, { method: "POST", body: {} });
    results.push(result);
    if (options.json !== true) io.out(lineOf(result));
  }
  if (options.json === true) io.out(`${JSON.stringify(results, undefined, 2)}\n`);
  else if (results.length === 0) io.out("No mapping has a route of its own.\n");
  return results.every(({ ok }) => ok) ? 0 : 1;
}

function lineOf({ mapping, ok, url, detail, ms }: ProbeResult): string {
  const where = url === null ? "" : ` ${url}`;
  const took = ms === 0 ? "" : ` (${ms} ms)`;
  return `${ok ? "ok      " : "problem "} ${printable(mapping, DETAIL_CHARS)}${where}: ${printable(detail, DETAIL_CHARS)}${took}\n`;
}
