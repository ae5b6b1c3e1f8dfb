import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { signRequest } from "../../src/auth/signatures/sign-request.ts";
import type { AuthConfig } from "../../src/config/auth/schema.ts";
import { EmbeddedGateway } from "../../src/hosts/embedded/gateway.ts";
import { BUILT_IN_PRESETS } from "../../src/presets/built-in.ts";
import { type Preset, type PresetSample, sampleBody } from "../../src/presets/preset.ts";
import { authOf, makePresetKeys } from "../../src/testing/preset-probe.ts";
import { PersuadedModel } from "./persuaded-model.ts";
import { type ConfigParts, GATEWAY_TOKEN, PUBLIC_URL } from "./settings.ts";
import { World } from "./world.ts";

/** A sender that signs with a key of ours. */
export interface Sender {
  readonly preset: Preset;
  readonly auth: AuthConfig;
  readonly secret: readonly string[];
  readonly key: string;
}

export interface AttackedConfig {
  readonly config: (parts: ConfigParts) => object;
  /** The server of each tool that is not one of `world`. */
  readonly servers?: Readonly<Record<string, string>> | undefined;
}

/** Their routes are refused without settings of their own. */
const NEED_SETTINGS: ReadonlySet<string> = new Set(["meta"]);
const SETTLE_MS = 300_000;

/** A real gateway whose agents ask the persuaded model, with the world around it. */
export class AttackedGateway {
  readonly senders: readonly Sender[];
  readonly world: World;
  readonly #model: PersuadedModel;
  readonly #gateway: EmbeddedGateway;
  readonly folder: string;

  private constructor(
    parts: Pick<AttackedGateway, "senders" | "world">,
    model: PersuadedModel,
    gateway: EmbeddedGateway,
    folder: string,
  ) {
    this.senders = parts.senders;
    this.world = parts.world;
    this.#model = model;
    this.#gateway = gateway;
    this.folder = folder;
  }

  static async start({ config, servers = {} }: AttackedConfig): Promise<AttackedGateway> {
    const folder = mkdtempSync(join(tmpdir(), "reveille-persuaded-"));
    const world = await new World().listen();
    const model = await new PersuadedModel(world.effects, new Map(Object.entries(servers))).listen();
    const senders = sendersWithKeys();
    const configFile = join(folder, "reveille.json5");
    const text = JSON.stringify(config({ model: model.origin, world: world.origin, senders, folder }));
    writeFileSync(configFile, text, { mode: 0o600 });
    const logger = pino({ level: "error" });
    const gateway = await EmbeddedGateway.start({ configFile, stateDir: join(folder, "state"), logger });
    return new AttackedGateway({ senders, world }, model, gateway, folder);
  }

  async stop(): Promise<void> {
    await this.#gateway.stop();
    await Promise.all([this.#model.stop(), this.world.stop()]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Posts a sample as its sender does; resolves with the status. */
  async call(path: string, { auth, key }: Sender, sample: PresetSample): Promise<number> {
    const query = sample.query ? `?${new URLSearchParams(sample.query).toString()}` : "";
    const { body, contentType } = sampleBody(sample);
    const headers = { "content-type": contentType, ...sample.headers };
    const url = `${PUBLIC_URL}/hooks/${path}${query}`;
    const signed = signRequest(auth, { method: "POST", url, headers, body, now: Date.now(), key });
    const { search } = new URL(signed.url);
    const init = { method: "POST", headers: headersOf(signed.headers), body: new Uint8Array(signed.body) };
    const answer = await fetch(`${this.#gateway.url}/hooks/${path}${search}`, init);
    await answer.arrayBuffer();
    return answer.status;
  }

  /** Asks the operator's API; with a body, by POST. */
  async ask<Answer>(path: string, body?: object): Promise<Answer> {
    const answer = await fetch(`${this.#gateway.url}/api/v1/${path}`, {
      headers: { authorization: `Bearer ${GATEWAY_TOKEN}`, "content-type": "application/json" },
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });
    return (await answer.json()) as Answer;
  }

  /** Makes waits of sessions. */
  async addWaits(waits: readonly object[]): Promise<void> {
    for (const wait of waits) {
      const made = await this.ask<{ id?: string; error?: string }>("waits", wait);
      if (made.id === undefined) throw new Error(`A wait was refused: ${made.error}`);
    }
  }

  /** Waits until nothing runs or waits for a turn. */
  async runsEnded(): Promise<void> {
    await waitFor("The runs do not end.", async () => {
      const open = await Promise.all(
        ["queued", "running"].map((state) => this.ask<{ deliveries: unknown[] }>(`deliveries?state=${state}&limit=1`)),
      );
      return open.every(({ deliveries }) => deliveries.length === 0);
    });
  }

  /** Waits until no message of the owner waits for an answer. */
  async ownerAnswered(): Promise<void> {
    await waitFor("The owner gets no answer.", async () => {
      const { sessions } = await this.ask<{ sessions: { pendingEvents: number }[] }>("sessions");
      return sessions.every(({ pendingEvents }) => pendingEvents === 0);
    });
  }
}

async function waitFor(otherwise: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + SETTLE_MS;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(otherwise);
    await sleep(200);
  }
}

/** Those that sign with a secret or a key pair of ours, and need no settings. */
function sendersWithKeys(): Sender[] {
  return BUILT_IN_PRESETS.flatMap((preset) => {
    const keys = makePresetKeys(preset.auth({}));
    if (keys === undefined || NEED_SETTINGS.has(preset.name)) return [];
    const auth = authOf(preset, { secrets: keys.secrets });
    return auth === undefined ? [] : [{ preset, auth, secret: keys.secrets, key: keys.key }];
  });
}

/** What HTTP cannot carry in a header, no sender sends. */
function headersOf(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, String(value).replaceAll(/[^\u0020-\u007E]/gu, "")]),
  );
}
