import type { DeliveryReader } from "../../index.ts";
import type { EmbeddedChannels } from "../channels/embedded-channels.ts";
import type { EmbeddedSessions } from "../sessions.ts";

/** What the API reads from, and the one thing it sets. */
export interface ApiSources {
  readonly sessions: EmbeddedSessions;
  readonly channels: Pick<EmbeddedChannels, "outbox" | "list">;
  readonly deliveries: DeliveryReader;
}
