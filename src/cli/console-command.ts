/** `reveille console`. */
import { askGateway, reachGateway } from "./gateway-client.ts";
import type { GatewayCommandOptions } from "./gateway.ts";
import type { CliIo } from "./io.ts";

export interface ConsoleCommandOptions extends GatewayCommandOptions {
  readonly json?: boolean;
}

/** Prints a one-time link to the console. The nonce is in the fragment, which a browser sends to no server. */
export async function printConsoleLink(options: ConsoleCommandOptions, io: CliIo): Promise<void> {
  const access = await reachGateway(options, io);
  const { path } = await askGateway<{ readonly path: string }>(access, "/console/links", { method: "POST", body: {} });
  const url = `${access.url}${path}`;
  io.out(options.json === true ? `${JSON.stringify({ url, expiresInSeconds: 60 })}\n` : `${url}\n`);
  if (options.json !== true) io.err("It signs in one browser, within 60 seconds.\n");
}
