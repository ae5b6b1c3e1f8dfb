/** What waits in a session for its next turn, and how that is asked for. */
import type { TextRights } from "./agent-rights.ts";
import type { ChannelTarget } from "./channels.ts";

export interface SystemEvent {
  readonly sessionKey: string;
  readonly text: string;
  readonly idempotencyKey: string;
  /**
   * Present: the text is the owner's own message, written here in a private chat. The host gives it to the agent as
   * such, sends the reply there, and remembers it as the session's last route.
   */
  readonly owner?: ChannelTarget | undefined;
  /** What is left of the agent's rights to the session from then on; absent: all. A host without such rights ignores it. */
  readonly rights?: TextRights | undefined;
}

/** The write of an event by the host, by its name in the database. It returns nothing when the session has the event. */
export interface EventWrite {
  readonly operation: string;
  readonly args: object;
  /** True when the request for a turn is written with the event. */
  readonly storesTurn: boolean;
}

export interface HeartbeatRequest {
  readonly agentId: string;
  readonly sessionKey: string;
  /** The reason, for logs and for the turn's prompt: `hook:wake`, `hook:<run id>`. */
  readonly reason: string;
  /** True when it is on disk already: `eventWrite` has written it. */
  readonly isStored?: boolean;
}
