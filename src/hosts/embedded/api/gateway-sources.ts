import type { ApiSources } from "../../../api/sources.ts";
import type { EmbeddedChannels } from "../channels/channels.ts";
import type { EmbeddedSessions } from "../sessions.ts";

/** What the gateway's API reads from and acts on. */
export interface GatewaySources extends ApiSources {
  readonly sessions: EmbeddedSessions;
  readonly channels: Pick<EmbeddedChannels, "outbox" | "list">;
}
