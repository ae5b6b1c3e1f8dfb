import type { GatewayPlugin } from "../../../src/core/host.ts";

/** What a host's test gives the suite: a way to run the real host with a plugin in it. */
export interface GatewayHostHarness {
  /**
   * Starts a host with fresh state, the plugins applied in order, and one agent whose model is at
   * `modelUrl` (OpenAI-compatible). Rejects when the host refuses to start.
   */
  start(options: HostStartOptions): Promise<RunningHost>;
}

export interface HostStartOptions {
  readonly plugins: readonly GatewayPlugin[];
  /** The plugin's block of the configuration; absent when `undefined`. */
  readonly config?: unknown;
  readonly modelUrl: string;
}

/** A host that has started. */
export interface RunningHost {
  /** Where its HTTP server is. */
  readonly url: string;
  /** Makes the host read a configuration with another block; resolves when it has accepted or refused it. */
  reload(config: unknown): Promise<void>;
  /**
   * Makes the host apply its plugins again, to a new host object, with the configuration that it has;
   * resolves when the new one is in use, or refused. Absent for hosts that never do.
   */
  reapply?(): Promise<void>;
  stop(): Promise<void>;
  /** Texts of the events that wait for the session's next turn, in order. */
  pendingEvents(sessionKey: string): Promise<readonly string[]>;
  /** How many turns of its own the session has had. */
  turns(sessionKey: string): Promise<number>;
  /** Texts of what the channel was given, oldest first. */
  sent(channel: string): Promise<readonly string[]>;
}
