import type { IncomingMessage } from "node:http";
import { lockoutKey } from "../auth/client-address.ts";
import type { EndedState } from "../core/run.ts";
import { ERRORS } from "../core/errors.ts";
import type { ErrorCode } from "../core/errors.ts";
import type { Clock, Logger } from "../core/host.ts";
import { type Measurements, OTHER } from "../core/measurements.ts";
import type { MappingIndex } from "../mapping/index-mappings.ts";
import type { Accepted } from "./commit.ts";
import { LogThrottle } from "./log-throttle.ts";

const MAX_USER_AGENT = 200;
/** Of a header those from U+0080 on can come, by which some terminals are steered. */
const CONTROL = /\p{Cc}/gu;

/** The facts of one request for its log line; stages add what they learn. They never hold a secret or a body. */
export class RequestFacts {
  /** Of `performance.now()`. */
  readonly startMs = performance.now();
  client = "unknown";
  /** The path below the prefix without its secret; `unknown` for an unauthenticated call to no route. */
  route: string | undefined = undefined;
  /** The preset, or else the route, of a sender that signs. */
  sender: string | undefined = undefined;
  actor: string | undefined = undefined;
  /** The mapping that took the call. */
  mapping: string | undefined = undefined;
  deliveryId: string | undefined = undefined;
  state: EndedState | "queued" | "duplicate" | undefined = undefined;
  /** The name of the handshake that was answered. */
  handshake: string | undefined = undefined;
  /** The error code of a refusal. */
  code: ErrorCode | undefined = undefined;
  /** Why a signature failed; for the log alone. */
  reason: string | undefined = undefined;

  /** From the start until its delivery was on disk. */
  acceptedMs = 0;

  /** Adds the delivery that the request became. */
  accepted({ deliveryId, ended, isRepeat }: Accepted): void {
    this.deliveryId = deliveryId;
    this.acceptedMs = performance.now() - this.startMs;
    this.state = isRepeat ? "duplicate" : (ended ?? "queued");
  }
}

/**
 * Logs one line at the end of each request.
 *
 * Refusals, and handshakes that need no signature, are throttled by kind and client address, and counted.
 */
export class RequestLog {
  readonly #logger: Logger;
  readonly #throttle: LogThrottle<RequestFacts>;

  constructor({ logger, clock }: { readonly logger: Logger; readonly clock: Clock }) {
    this.#logger = logger;
    this.#throttle = new LogThrottle({
      clock,
      flushed: ({ route, code, handshake, client }, suppressed) => {
        this.#logger[levelOf(code)]({ route, code, handshake, client, suppressed }, "requests suppressed in the log");
      },
    });
  }

  /** Logs the line of a request that was answered with `status`. */
  end(facts: RequestFacts, req: Pick<IncomingMessage, "headers">, status: number): void {
    const { code, handshake } = facts;
    const ms = Math.round(performance.now() - facts.startMs);
    if (code === undefined && handshake === undefined) {
      const { deliveryId: id, route, sender, actor, state, client } = facts;
      this.#logger.info({ id, route, sender, actor, state, status, ms, client }, "request");
      return;
    }
    const { deliveryId: id, route, sender, actor, client, reason } = facts;
    const kind = `${code ?? handshake} ${lockoutKey(client)} ${route}`;
    const count = this.#throttle.admit(kind, facts, code ?? "handshake");
    if (count === undefined) return;
    const suppressed = count === 0 ? undefined : count;
    const userAgent = code && req.headers["user-agent"]?.slice(0, MAX_USER_AGENT).replace(CONTROL, " ");
    const line = { id, route, sender, actor, handshake, status, code, reason, ms, client, userAgent, suppressed };
    this.#logger[levelOf(code)](line, "request");
  }

  /** Logs the counts of suppressed lines that no later line has carried. */
  flush(): void {
    this.#throttle.flush();
  }
}

/** The paths that mappings name; `undefined` while there is no configuration. */
export type KnownPaths = Pick<MappingIndex, "hasPath"> | undefined;

/** Counts a request that has ended; a route that no mapping takes by its path counts as `other`. */
export function countRequest(
  { deliveries, refusals, refusedMinutes, acceptSeconds }: Measurements,
  { code, state, route = OTHER, acceptedMs }: RequestFacts,
  { mappings, clock }: { readonly mappings: KnownPaths; readonly clock: Clock },
): void {
  if (code !== undefined) {
    refusals.add(code);
    refusedMinutes.add(clock.now());
  }
  if (state === undefined) return;
  const isKnown = route === "wake" || route === "agent" || mappings?.hasPath(route) === true;
  deliveries.add(isKnown ? route : OTHER, state);
  acceptSeconds.observe(acceptedMs / 1_000);
}

/** `warn` for what an operator should look at: failed authentication and the gateway's own failures. */
function levelOf(code: ErrorCode | undefined): "info" | "warn" {
  if (code === undefined) return "info";
  const { status } = ERRORS[code];
  return status === 401 || status === 429 || status >= 500 ? "warn" : "info";
}
