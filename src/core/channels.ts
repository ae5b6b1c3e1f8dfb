/** The channels of a host, as the host contract has them. */

/** The gateway's messaging channels. */
export interface HostChannels {
  list(): readonly ChannelInfo[];
  /** The channel and recipient that the agent's main session last talked to; a promise where it has to be read first. */
  lastRoute(agentId: string): LastRoute | Promise<LastRoute>;
  /**
   * Sends one message; resolves when the channel took it. A second message with the same
   * idempotency key is not sent again where the channel can know it. Rejects with a
   * {@link HostError}.
   */
  send(message: ChannelMessage): Promise<void>;
}

/** Absent: it has talked to no one yet. */
export type LastRoute = ChannelTarget | undefined;

export interface ChannelInfo {
  readonly id: string;
  /** The recipient when a call names none, for channels that have a default. */
  readonly defaultTo?: string;
}

export interface ChannelTarget {
  readonly channel: string;
  readonly to: string;
  /** The account of the channel; its default one when absent. */
  readonly accountId?: string;
  /** The thread or topic of the conversation; the conversation itself when absent. */
  readonly threadId?: string | number;
}

export interface ChannelMessage extends ChannelTarget {
  readonly text: string;
  readonly idempotencyKey: string;
  /** The session that the message comes from, for a channel that keeps its messages together. */
  readonly sessionKey?: string | undefined;
  /** Of the caller whose event led to the message, for a channel that can pass it on. */
  readonly traceparent?: string | undefined;
  /** The mark of the run's chain, for a channel that can carry it where no reader sees it. */
  readonly mark?: string | undefined;
}
