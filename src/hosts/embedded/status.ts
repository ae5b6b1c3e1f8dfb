/** Says whether the gateway can accept calls, and whether its file was refused. */
import { stat, statfs } from "node:fs/promises";
import type { Clock, Logger } from "../../core/host.ts";
import type { WebhookIngress } from "../../index.ts";
import type { SqliteDatabase } from "../../storage/sqlite/engine/database.ts";
import type { StateStore } from "./state/state-store.ts";
import type { ConfigRefusal } from "./config/reload.ts";
import type { SubscriptionState } from "./subscriptions/events/event-subscription.ts";
import type { PublicAddress } from "./tunnel/public-address.ts";

/** A reason why the gateway is not ready, or not as its owner wants it. */
export interface StatusProblem {
  /** The first two mean that calls are refused; the others leave the gateway ready: it serves what reaches it. */
  readonly code: "STORE_UNAVAILABLE" | "HOOKS_CLOSED" | "CONFIG_REFUSED" | "NOT_EXPOSED" | "GATEWAYS_DIFFER";
  readonly message: string;
}

export interface GatewayStatusSources {
  readonly database: Pick<SqliteDatabase, "file">;
  readonly state: Pick<StateStore, "tryWrite">;
  readonly stateDir: string;
  readonly ingress: Pick<WebhookIngress, "tryStore" | "isClosed" | "differing" | "turnsElsewhere">;
  readonly refusal: () => ConfigRefusal | undefined;
  /** The public URL of the tool; `undefined` without one. */
  readonly publicAddress: Pick<PublicAddress, "state" | "ask">;
  /** The public URL of the hooks and their prefix; `undefined`: there is none. */
  readonly hooksUrl: () => string | undefined;
  readonly subscriptions: () => readonly SubscriptionState[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Time for which one try of the store answers all who ask: readiness takes no token, and each try is an fsync. */
const TRY_EVERY_MS = 2_000;
/** Less than this is a full disk: a commit may need more than the try does. */
const MIN_FREE_BYTES = 1_048_576;

export class GatewayStatus {
  readonly #sources: GatewayStatusSources;
  #tried: { readonly at: number; readonly problem: Promise<StatusProblem | undefined> } | undefined;

  constructor(sources: GatewayStatusSources) {
    this.#sources = sources;
  }

  /** For everyone: codes and sentences without anything that the owner wrote. Never rejects. */
  async readiness(): Promise<{ readonly isReady: boolean; readonly problems: readonly StatusProblem[] }> {
    const { ingress } = this.#sources;
    const store = await this.#storeProblem();
    const closed: StatusProblem | undefined = ingress.isClosed ? HOOKS_CLOSED : undefined;
    const refusal = this.#sources.refusal();
    const config: StatusProblem | undefined = refusal && {
      code: "CONFIG_REFUSED",
      message: `The configuration file was refused at ${isoTime(refusal.at)}; the one before it stays active.`,
    };
    const { state } = this.#sources.publicAddress;
    const exposed: StatusProblem | undefined =
      state?.url === null
        ? { code: "NOT_EXPOSED", message: "The hooks have no public URL now; the status and the log say why." }
        : undefined;
    const count = ingress.differing.length;
    const differs: StatusProblem | undefined =
      count === 0
        ? undefined
        : {
            code: "GATEWAYS_DIFFER",
            message: `Other gateways on the database have another version or another hooks block: ${count}. The log names them.`,
          };
    return {
      isReady: store === undefined && closed === undefined,
      problems: [store, closed, config, exposed, differs].filter((problem) => problem !== undefined),
    };
  }

  /** For the owner: also what is wrong in the refused file. */
  async details(): Promise<object> {
    const { isReady, problems } = await this.readiness();
    const refusal = this.#sources.refusal();
    return {
      ready: isReady,
      hasSessions: true,
      problems,
      refused: refusal === undefined ? null : { at: isoTime(refusal.at), issues: refusal.issues },
      hooksUrl: this.#sources.hooksUrl() ?? null,
      exposed: this.#sources.publicAddress.state ?? null,
      subscriptions: this.#sources.subscriptions(),
      turnsElsewhere: this.#sources.ingress.turnsElsewhere,
      freeDiskBytes: (await this.#freeBytes()) ?? null,
      databaseBytes: (await this.#databaseBytes()) ?? null,
    };
  }

  /** For the owner: the URL that the hooks are said to have, and what this gateway alone answers there. */
  askReachability(): object {
    const hooksUrl = this.#sources.hooksUrl();
    const { path, answer } = this.#sources.publicAddress.ask();
    return { url: hooksUrl === undefined ? null : `${hooksUrl}${path}`, answer };
  }

  #storeProblem(): Promise<StatusProblem | undefined> {
    const now = this.#sources.clock.now();
    const isFresh = this.#tried !== undefined && Math.abs(now - this.#tried.at) < TRY_EVERY_MS;
    if (!isFresh) this.#tried = { at: now, problem: this.#tryStore() };
    return this.#tried!.problem;
  }

  async #tryStore(): Promise<StatusProblem | undefined> {
    const free = await this.#freeBytes();
    if (free !== undefined && free < MIN_FREE_BYTES) {
      return storeProblem("The disk of the state folder is full; calls may be refused.");
    }
    try {
      await this.#sources.state.tryWrite();
      await this.#sources.ingress.tryStore();
      return undefined;
    } catch (error) {
      this.#sources.logger.error({ err: error }, "the store took no write for the readiness check");
      return storeProblem("The database takes no writes; calls are refused. The log says why.");
    }
  }

  /** The file and its write-ahead log. */
  async #databaseBytes(): Promise<number | undefined> {
    const { file } = this.#sources.database;
    try {
      const sizes = await Promise.all([file, `${file}-wal`].map(async (path) => (await stat(path)).size));
      return sizes.reduce((sum, size) => sum + size, 0);
    } catch {
      return undefined;
    }
  }

  async #freeBytes(): Promise<number | undefined> {
    try {
      const { bavail, bsize } = await statfs(this.#sources.stateDir);
      return bavail * bsize;
    } catch {
      return undefined;
    }
  }
}

const HOOKS_CLOSED: StatusProblem = {
  code: "HOOKS_CLOSED",
  message: "All hooks answer 503, because a plugin that may hold rules could not be loaded; the log names it.",
};

function storeProblem(message: string): StatusProblem {
  return { code: "STORE_UNAVAILABLE", message };
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}
