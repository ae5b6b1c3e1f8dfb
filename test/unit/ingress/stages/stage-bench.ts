import { createSecretKey } from "node:crypto";
import { Probes } from "../../../../src/ingress/probes.ts";
import { Measurements } from "../../../../src/core/measurements.ts";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AsyncSeriesHook, SyncHook } from "tapable";
import type { Credential, RawRequest } from "../../../../src/core/delivery.ts";
import { RunWatch } from "../../../../src/dispatch/run-watch.ts";
import { isRefusal } from "../../../../src/core/errors.ts";
import { prepareActiveConfig } from "../../../../src/ingress/active-config.ts";
import type { ActiveConfig } from "../../../../src/ingress/active-config.ts";
import { createIngressHooks } from "../../../../src/ingress/hooks.ts";
import type { IngressHooks } from "../../../../src/ingress/hooks.ts";
import type { ConfigSnapshot, GatewayHost, HttpRouter, ShutdownDeadline } from "../../../../src/core/host.ts";
import { NO_KEYS } from "../../../../src/auth/keys/remote-keys.ts";
import { ByteBudget, HeldAnswers, InFlight, UnverifiedPlaces } from "../../../../src/ingress/request-limits.ts";
import type { IngressContext } from "../../../../src/ingress/context.ts";
import { Lockout } from "../../../../src/auth/lockout.ts";
import { RequestFacts } from "../../../../src/ingress/request-log.ts";
import { parse } from "../../../../src/ingress/stages/parse.ts";
import type { Parsed } from "../../../../src/ingress/stages/parse.ts";
import { verify, VerifiedRequest } from "../../../../src/ingress/stages/verify.ts";
import { GOOD_TOKEN } from "../../config/hooks-context.ts";
import { DispatchBench } from "../../dispatch/dispatch-bench.ts";
import { recordingLogger } from "../../hosts/embedded/server/recording-logger.ts";
import type { LogLine } from "../../hosts/embedded/server/recording-logger.ts";
import { gatewayOf, TWO_CHANNELS } from "../../policy/gateway-parts.ts";

export const RECEIVED_AT = Date.UTC(2026, 1, 3, 4, 5, 6, 7);
export const CREDENTIAL: Credential = { scheme: "token", id: "token-1" };

/** The stages' surroundings: real hooks, store and dispatcher, and a gateway with two agents and two channels. */
export class StageBench implements AsyncDisposable {
  readonly hooks: IngressHooks = createIngressHooks();
  readonly ingress: IngressContext;
  readonly logged: readonly LogLine[];
  readonly #dispatch: DispatchBench;
  /** Requests let in at once. */
  limit = 10;
  /** Bytes of unverified bodies at once. */
  byteLimit = 1_000_000;

  private constructor(dispatch: DispatchBench) {
    const logger = recordingLogger();
    this.#dispatch = dispatch;
    this.logged = logger.lines;
    this.ingress = {
      host: { ...gatewayOf(), ...SURROUNDINGS, logger },
      store: dispatch.store,
      dispatcher: dispatch.dispatcher,
      watch: new RunWatch(),
      inFlight: new InFlight({ limit: () => this.limit }),
      unverifiedPlaces: new UnverifiedPlaces({ maxInFlight: () => 1_000 }),
      unverifiedBytes: new ByteBudget({ limit: () => this.byteLimit }),
      heldAnswers: new HeldAnswers({ max: 1, ms: 0 }),
      measurements: new Measurements(),
      probes: new Probes({ key: createSecretKey(Buffer.alloc(32, 7)), clock: { now: () => RECEIVED_AT } }),
    };
  }

  static async open(): Promise<StageBench> {
    return new StageBench(await DispatchBench.open());
  }

  /** A `hooks` block, on and with a token, ready for requests. */
  async active(
    block: object = {},
    { trustedProxies = [] as string[], hooks = this.hooks } = {},
  ): Promise<ActiveConfig> {
    const snapshot: Omit<ConfigSnapshot, "onCommit"> = {
      config: { enabled: true, token: GOOD_TOKEN, ...block },
      reason: "start",
      gateway: { secrets: [], loopbackOnly: true, trustedProxies },
      agents: this.ingress.host.agents,
      channels: TWO_CHANNELS,
    };
    return prepareActiveConfig(snapshot, {
      host: this.ingress.host,
      hooks,
      workDir: join(tmpdir(), "no-such-gateway"),
      keys: NO_KEYS,
      previous: undefined,
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#dispatch.close();
  }
}

const SURROUNDINGS: Pick<GatewayHost, "name" | "lifecycle" | "paths" | "clock"> = {
  name: "bench",
  lifecycle: {
    onConfigLoad: new AsyncSeriesHook<[ConfigSnapshot]>(["snapshot"]),
    onHttpRoute: new SyncHook<[HttpRouter]>(["router"]),
    onShutdown: new AsyncSeriesHook<[ShutdownDeadline]>(["deadline"]),
  },
  paths: { configDir: join(tmpdir(), "no-such-gateway"), stateDir: join(tmpdir(), "no-such-gateway") },
  clock: { now: () => RECEIVED_AT },
};

/** A request that was read. */
export function rawRequest(path: string, body: string, changes: Partial<RawRequest> = {}): RawRequest {
  return {
    method: "POST",
    path,
    query: {},
    headers: { "content-type": "application/json" },
    clientAddress: "127.0.0.1",
    receivedAt: RECEIVED_AT,
    body: Buffer.from(body),
    ...changes,
  };
}

/** A request that the hook token has verified. */
export function verifiedRequest(
  path: string,
  body: string,
  changes: Partial<RawRequest> = {},
  credential = CREDENTIAL,
): VerifiedRequest {
  const request = { sender: undefined, clientAddress: "127.0.0.1", facts: new RequestFacts() };
  const lockout = new Lockout({ failures: 1, windowMs: 1, lockMs: 1, maxClients: 1 }, SURROUNDINGS);
  const raw = rawRequest(path, body, changes);
  const verified = verify({ lockout }, request, { raw, signed: undefined, credential });
  if (!(verified instanceof VerifiedRequest)) throw new Error("The request was not verified.");
  return verified;
}

/** A request that was read, whose sender is known and whose body is JSON. */
export function parsedRequest(path: string, payload: unknown): { request: VerifiedRequest; parsed: Parsed } {
  const request = verifiedRequest(path, JSON.stringify(payload));
  const parsed = parse(request, { accept: [], maxDepth: 64 });
  if (isRefusal(parsed)) throw new Error(parsed.message);
  return { request, parsed };
}
