import { HostError } from "../../core/host.ts";
import type { ChannelInfo, ChannelMessage, ChannelTarget, HostChannels } from "../../core/host.ts";
import { notSent } from "./error-classifier.ts";
import { memoizeByConfig } from "./memoize.ts";
import type { OpenClawConfig, OpenClawRuntime, OutboundAdapter } from "./sdk.ts";
import { channelList } from "./read-config.ts";
import type { OpenClawState } from "./state.ts";

/** The host reads a session from its database; owners write less often than senders call. */
const ROUTE_MS = 1_000;
const MAX_ROUTES = 1_000;

export interface OpenClawChannelsOptions {
  readonly runtime: Pick<OpenClawRuntime, "channel" | "agent">;
  readonly config: () => OpenClawConfig;
  readonly mainSession: (agentId: string) => { readonly sessionKey: string; readonly agentId: string };
  readonly state: Pick<OpenClawState, "sentParts" | "recordSent">;
}

/** The host's channels, each with the adapter that the host itself sends with. */
export class OpenClawChannels implements HostChannels {
  readonly #options: OpenClawChannelsOptions;
  readonly #list: () => readonly ChannelInfo[];
  /** Of each agent, what the host's store said last. */
  readonly #routes = new Map<string, { readonly route: ChannelTarget | undefined; readonly at: number }>();
  /** Messages on their way, by channel and key: a second one waits for the first. */
  readonly #sending = new Map<string, Promise<void>>();

  constructor(options: OpenClawChannelsOptions) {
    this.#options = options;
    this.#list = memoizeByConfig(options.config, channelList);
  }

  list(): readonly ChannelInfo[] {
    return this.#list();
  }

  /** The route of the main session's last message, at most a second ago; `undefined` when it has none with a recipient. */
  async lastRoute(agentId: string): Promise<ChannelTarget | undefined> {
    const now = performance.now();
    const known = this.#routes.get(agentId);
    if (known !== undefined && now - known.at < ROUTE_MS) return known.route;
    // Agents come out of the configuration, which may have been another one for each.
    if (this.#routes.size >= MAX_ROUTES) this.#routes.clear();
    const route = this.#readRoute(agentId);
    this.#routes.set(agentId, { route, at: now });
    return route;
  }

  #readRoute(agentId: string): ChannelTarget | undefined {
    const { runtime, mainSession } = this.#options;
    const { sessionKey } = mainSession(agentId);
    const entry = runtime.agent?.session?.getSessionEntry?.({ sessionKey, agentId });
    const route = entry?.delivery?.kind === "external" ? entry.delivery.context : undefined;
    const channel = route?.channel ?? entry?.lastChannel;
    const to = route?.to ?? entry?.lastTo;
    if (!channel || !to) return undefined;
    const accountId = route?.accountId ?? entry?.lastAccountId;
    const threadId = route?.threadId ?? entry?.lastThreadId;
    return {
      channel,
      to,
      ...(accountId ? { accountId } : {}),
      ...(threadId === undefined || threadId === "" ? {} : { threadId }),
    };
  }

  /** A long text is sent in parts, as the channel cuts it; a second try continues behind the last that was taken. */
  send(message: ChannelMessage): Promise<void> {
    const id = JSON.stringify([message.channel, message.idempotencyKey]);
    const before = this.#sending.get(id);
    const sent = (before ?? Promise.resolve())
      .catch(() => {})
      .then(() => this.#send(message))
      .finally(() => {
        if (this.#sending.get(id) === sent) this.#sending.delete(id);
      });
    this.#sending.set(id, sent);
    return sent;
  }

  async #send({ channel, to, accountId, threadId, text, idempotencyKey }: ChannelMessage): Promise<void> {
    const { config, state } = this.#options;
    const adapter = await this.#adapter(channel);
    const place = {
      ...(accountId === undefined ? {} : { accountId }),
      ...(threadId === undefined ? {} : { threadId }),
    };
    const parts = adapter.cut(text);
    for (let sent = state.sentParts(channel, idempotencyKey) ?? 0; sent < parts.length; sent++) {
      try {
        await adapter.sendText({ cfg: config(), to, ...place, text: parts[sent] ?? "" });
      } catch (error) {
        throw notSent(channel, error);
      }
      await state.recordSent(channel, idempotencyKey, sent + 1);
    }
  }

  async #adapter(
    channel: string,
  ): Promise<{ cut(text: string): string[] } & Pick<Required<OutboundAdapter>, "sendText">> {
    const { runtime } = this.#options;
    const known = this.list().some(({ id }) => id === channel);
    const adapter = known ? await runtime.channel.outbound.loadAdapter(channel).catch(notLoaded(channel)) : undefined;
    // A channel whose own plugin is loaded again has no adapter meanwhile.
    if (known && adapter === undefined) {
      throw new HostError(`The channel ${channel} is not loaded.`, { retryable: true });
    }
    if (adapter?.sendText === undefined) {
      const message = `The gateway has no channel ${JSON.stringify(channel)} that can send text.`;
      throw new HostError(message, { retryable: false });
    }
    const { textChunkLimit: limit } = adapter;
    return {
      sendText: async (message) => adapter.sendText?.(message),
      cut: (text) => (limit && adapter.chunker && text.length > limit ? adapter.chunker(text, limit) : [text]),
    };
  }
}

function notLoaded(channel: string): (error: unknown) => never {
  return (error) => {
    throw new HostError(`The channel ${channel} could not be loaded.`, { retryable: true, cause: error });
  };
}
