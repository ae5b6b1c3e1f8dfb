import type { Clock } from "../../host.ts";
import type { Operations } from "../../index.ts";
import type { EmbeddedChannels } from "../channels/embedded-channels.ts";
import type { EmbeddedSessions } from "../sessions.ts";

/** What the API reads from and acts on. */
export interface ApiSources {
  readonly sessions: EmbeddedSessions;
  readonly channels: Pick<EmbeddedChannels, "outbox" | "list">;
  /** Throws a `StoreError` while the ingress does not run. */
  readonly operations: () => Operations;
  readonly clock: Clock;
}
