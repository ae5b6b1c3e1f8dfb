import { reasonOf } from "../../core/reason-of.ts";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Logger } from "../../core/host.ts";
import { localUrl } from "./read-config.ts";
import type { OpenClawConfig } from "./sdk.ts";

/** The gateway's HTTP server may be a moment behind the service. */
const TRIES = 20;
const PAUSE_MS = 500;
const ANSWER_MS = 2_000;

export interface HealthProbeOptions {
  readonly config: OpenClawConfig;
  readonly path: string;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly env?: NodeJS.ProcessEnv;
  /** Between two tries. */
  readonly pauseMs?: number;
}

/**
 * Calls the hooks' own route over loopback and logs the exact address. Resolves with the reason when it
 * does not answer. A `GET` of the prefix touches no secret: the ingress answers it 405.
 */
export async function probeHealth(options: HealthProbeOptions): Promise<string | undefined> {
  const { config, path, logger, signal, env = process.env, pauseMs = PAUSE_MS } = options;
  const url = `${localUrl(config, env)}${path}/wake`;
  let reason = "";
  for (let attempt = 0; attempt < TRIES && !signal.aborted; attempt++) {
    const status = await statusOf(url, signal);
    if (status === 405) {
      logger.info({}, `Reveille answers at ${url}`);
      return undefined;
    }
    reason = `${url} ${status}`;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return signal.aborted ? undefined : `Reveille cannot be reached on its own address: ${reason}.`;
}

async function statusOf(url: string, signal: AbortSignal): Promise<number | string> {
  try {
    const status = await get(url, AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]));
    return status === 405 ? 405 : `is answered ${status} by another server`;
  } catch (error) {
    return `is not answered (${reasonOf(error)})`;
  }
}

/** The host signs its certificate itself unless it was given one; nothing secret is sent, over loopback only. */
function get(url: string, signal: AbortSignal): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const options = { signal, agent: false, rejectUnauthorized: false };
  const call = url.startsWith("https:") ? requestHttps(url, options) : requestHttp(url, options);
  call.on("error", reject);
  call.on("response", (response) => {
    response.destroy();
    resolve(response.statusCode);
  });
  call.end();
  return promise;
}
