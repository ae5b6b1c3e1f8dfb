import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { DeliveryDetail, DeliverySummary } from "../../src/core/delivery.ts";
import type { State, RunDetail } from "../../src/core/run.ts";
import { ScriptedModel } from "../torture/scripted-model.ts";
import type { ModelReaction } from "../torture/scripted-model.ts";
import { ScriptedReceiver } from "../torture/scripted-receiver.ts";
import { RunningGateway } from "./http/running-gateway.ts";
import type { GatewaySetup } from "./http/running-gateway.ts";
import { GITHUB_SECRET } from "./http/sender-calls.ts";

const OPEN: ReadonlySet<State> = new Set(["queued", "running", "held"]);
const SESSION = { sessionKey: "hook:shared" };
const POST = { deliver: true, channel: "webhook", to: "team", retry: { delivery: { attempts: 1 } } };
const BRIEF = { attempts: 2, backoffSeconds: 0.1, maxBackoffSeconds: 0.1 };
/** Nothing is tried a second time while a test looks. */
const LONG = { attempts: 2, backoffSeconds: 3_600, maxBackoffSeconds: 3_600 };

const MAPPINGS = [
  mapping("large", { when: "payload.amount > 10.0" }),
  mapping("null", { transform: { module: "nothing.mjs" } }),
  mapping("each", { forEach: "items", messageTemplate: "Message {{items[0]}}." }),
  mapping("shared", SESSION),
  mapping("skip", { ...SESSION, overlap: "skip" }),
  mapping("latest", { ...SESSION, overlap: "latest" }),
  mapping("young", { ...SESSION, maxAgeSeconds: 1 }),
  mapping("limited", { budget: { perHour: 1 } }),
  mapping("twice", { retry: BRIEF }),
  mapping("again", { retry: LONG }),
  mapping("held", { interrupted: "hold" }),
  mapping("short", { timeoutSeconds: 0.2 }),
  mapping("told", { deliver: true, channel: "console" }),
  mapping("posted", POST),
  mapping("backed", { ...POST, fallback: { channel: "console" } }),
  mapping("nobody", { deliver: true, channel: "webhook" }),
  mapping("nobody-backed", { deliver: true, channel: "webhook", fallback: { channel: "console" } }),
  mapping("backed-by-nobody", { ...POST, fallback: { channel: "webhook" } }),
  mapping("backed-twice", { ...POST, fallback: { channel: "webhook", to: "others" } }),
  mapping("posted-later", { ...POST, retry: { delivery: LONG } }),
  mapping("posted-again", { ...POST, retry: { delivery: BRIEF } }),
  mapping("backed-later", { ...POST, retry: { delivery: LONG }, fallback: { channel: "webhook", to: "others" } }),
  mapping("passed-on", { ...POST, mode: "deliver" }),
  mapping("passed-to-nobody", { deliver: true, channel: "webhook", mode: "deliver" }),
  mapping("gathering", { coalesce: { key: "all", windowSeconds: 3_600 } }),
  mapping("field", { when: "payload.value" }),
  mapping("costly", { when: "payload.items.all(a, payload.items.all(b, b >= 0.0))" }),
  mapping("rerun", { interrupted: "rerun" }),
  { id: "woken", match: { path: "woken" }, action: "wake", wakeMode: "next-heartbeat", textTemplate: "{{text}}" },
  ofGithub("repository", { events: ["push"], ignoreActors: ["octo*", "4242"] }),
  ofGithub("blank", { messageTemplate: "{{nothing}}" }),
  ofGithub("commits", { forEach: "commits" }),
  ofGithub("sourced", { match: { path: "sourced", source: "ci" } }),
];

/** A mapping on the path of its name that tells no one. */
function mapping(id: string, more: object): object {
  const messageTemplate = "Message {{text}}.";
  return { id, match: { path: id }, wakeMode: "next-heartbeat", deliver: false, messageTemplate, ...more };
}

/** A mapping on the path of its name whose sender signs. */
function ofGithub(id: string, more: object): object {
  const preset = { preset: "github", secret: GITHUB_SECRET };
  return { id, match: { path: id }, ...preset, wakeMode: "next-heartbeat", deliver: false, ...more };
}

/** A gateway with a mapping for each way in which a delivery can end, and what its model and its channel do. */
export class StatesGateway implements AsyncDisposable {
  readonly gateway: RunningGateway;
  readonly #model: ScriptedModel;
  readonly #receiver: ScriptedReceiver;
  readonly #script: Script;

  /** `hooks` are laid over the mappings. */
  static async start({
    hooks = {},
    plugins = [],
  }: Pick<GatewaySetup, "hooks" | "plugins"> = {}): Promise<StatesGateway> {
    const script: Script = { reaction: () => ({}), postStatuses: [204], letGo: () => {} };
    const model = await ScriptedModel.listen(({ prompt }) => script.reaction(prompt));
    const receiver = await ScriptedReceiver.listen(() =>
      script.postStatuses.length > 1 ? script.postStatuses.shift()! : script.postStatuses[0]!,
    );
    const gateway = await RunningGateway.start({
      config: { ...model.config, channels: receiver.config },
      gateway: { shutdownSeconds: 0.2 },
      hooks: { mappings: MAPPINGS, concurrency: 4, ...hooks },
      plugins,
      transforms: { "nothing.mjs": "export default () => null;\n" },
    });
    return new StatesGateway({ gateway, model, receiver, script });
  }

  private constructor(parts: {
    gateway: RunningGateway;
    model: ScriptedModel;
    receiver: ScriptedReceiver;
    script: Script;
  }) {
    this.gateway = parts.gateway;
    this.#model = parts.model;
    this.#receiver = parts.receiver;
    this.#script = parts.script;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.reset();
    await this.gateway[Symbol.asyncDispose]();
    this.#model.close();
    this.#receiver.close();
  }

  /** The model answers at once and the channel takes everything. */
  reset(): void {
    this.#script.letGo();
    this.#script.reaction = () => ({});
    this.#script.postStatuses = [204];
  }

  /** What the model does from now on. */
  answerWith(reaction: ModelReaction): void {
    this.#script.reaction = () => reaction;
  }

  /** What the channel `webhook` answers to the next posts; from then on the last of them. */
  answerPostsWith(...statuses: [number, ...number[]]): void {
    this.#script.postStatuses = statuses;
  }

  /** The model keeps every prompt with that text waiting until the function is called, and then does so. */
  holdBack(text: string, reaction: ModelReaction = {}): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#script.reaction = async (prompt) => {
      if (!prompt.includes(text)) return {};
      await promise;
      return reaction;
    };
    this.#script.letGo = resolve;
    return resolve;
  }

  /** Sends a call that is taken, and gives its delivery's id. */
  async sent(path: string, payload: object = {}): Promise<unknown> {
    const { status, body } = await this.gateway.post(`/hooks/${path}`, payload);
    expect(status).toBeLessThan(300);
    return body["deliveryId"];
  }

  /** Waits until the delivery is in that state, and sees it in the list of that state as well. */
  async seen(id: unknown, state: State): Promise<DeliveryDetail> {
    let delivery = await this.gateway.delivery(id);
    while (delivery.state !== state) {
      // Nothing follows any more: better to see what it is than to wait for good.
      if (!OPEN.has(delivery.state)) expect(delivery).toMatchObject({ state });
      await sleep(10);
      delivery = await this.gateway.delivery(id);
    }
    const { deliveries } = await this.gateway.api<{ deliveries: DeliverySummary[] }>(
      `/deliveries?state=${state}&limit=200`,
    );
    expect(deliveries.find((listed) => listed.id === id)).toMatchObject({ state, reason: delivery.reason });
    return delivery;
  }

  /** The one run of a delivery, once that is in the state. */
  async onlyRun(id: unknown, state: State): Promise<RunDetail> {
    const { runs } = await this.seen(id, state);
    expect(runs).toHaveLength(1);
    return runs[0]!;
  }

  /** Cancels a delivery, and sees that it is canceled and why. */
  async canceled(id: unknown): Promise<RunDetail> {
    expect(await this.gateway.api(`/deliveries/${String(id)}/cancel`, {})).toMatchObject({ ok: true });
    const run = await this.onlyRun(id, "canceled");
    expect(run.reason).toBe("canceled by the operator");
    return run;
  }

  async newest(): Promise<DeliverySummary> {
    return (await this.gateway.deliveries())[0]!;
  }

  /** Why a mapping is paused; `undefined` when it is not. */
  async pauseReason(scope: string): Promise<string | undefined> {
    const { mappings } = await this.gateway.api<{
      mappings: readonly { readonly scope: string; readonly paused: { readonly reason: string } | null }[];
    }>("/hooks");
    return mappings.find((mapping) => mapping.scope === scope)?.paused?.reason;
  }
}

/** What tests change while the gateway runs. */
interface Script {
  reaction: (prompt: string) => ModelReaction | Promise<ModelReaction>;
  postStatuses: number[];
  letGo: () => void;
}
