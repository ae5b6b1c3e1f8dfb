/** The gateway that the commands are about. */
import type { ConfigIssue } from "../config/errors.ts";
import { type ConfigSnapshot, type GatewayHost, HostError, type Logger } from "../core/host.ts";
import type { IngressHooks } from "../ingress/hooks.ts";
import type { MovedTable } from "../storage/postgres/move/tables.ts";
import type { FileLocations, LocationOptions } from "./file-locations.ts";

/** The options of commands that ask a running gateway. */
export interface GatewayCommandOptions extends LocationOptions {
  /** URL of the gateway; by its configuration when absent. */
  readonly url?: string;
}

/** A gateway that runs, and the token that its API takes. */
export interface GatewayAccess {
  /** Of the gateway, without a slash at its end. */
  readonly url: string;
  /** Of its API, without a slash at its end. */
  readonly apiUrl: string;
  /** Absent when its API takes none. */
  readonly token?: string;
}

export interface OpenOptions {
  readonly logger: Logger;
  /** Time that plugins may take to load. */
  readonly loadTimeoutMs?: number;
  /** True: a plugin that fails to load refuses the configuration. Default: it is set aside. */
  readonly strict?: boolean | undefined;
}

/** A configuration whose plugins have been applied to a host that does not run. */
export interface OpenedConfiguration {
  /** The `hooks` block as it is written, before variables are replaced; holds secrets. */
  readonly hooksWritten: unknown;
  /** Warnings about parts that work, besides the `hooks` block. */
  readonly warnings: readonly ConfigIssue[];
  readonly host: GatewayHost;
  /** With what the plugins have tapped. */
  readonly hooks: IngressHooks;
  readonly snapshot: Omit<ConfigSnapshot, "onCommit">;
  /** Asks every plugin for its consent. Rejects with what one refuses. */
  readonly prepare: () => Promise<void>;
  /** Fires `onShutdown`, so that plugins let go of what they have opened. Never rejects, and ends. */
  readonly close: () => Promise<void>;
}

/** The own state of a host in its SQLite file. */
export interface MovedState {
  /** Exports its `sqliteModule`. */
  readonly module: URL;
  readonly tables: readonly MovedTable[];
}

/** The place and content of the gateway's configuration, and the way to its API. */
export interface CliGateway {
  /** As it is written before a command: `reveille`. */
  readonly program: string;
  readonly description: string;
  /** False when the gateway alone decides where its files are. */
  readonly takesLocations: boolean;
  /** The key of the block that is called `hooks` in messages, where the owner writes it. */
  readonly block: string;
  /** The prefix of the hooks where the block names none. */
  readonly defaultPath: string;
  /** Starts a configuration where there is none. */
  readonly setupCommand: string;
  /** The state of the host that `move` takes along; absent for a host whose own state stays where it is. */
  movedState?(): Promise<MovedState>;
  locate(options: LocationOptions): FileLocations;
  /** True when there is a configuration, valid or not. */
  isConfigured(options: LocationOptions): boolean;
  /** Reads the configuration without starting anything. Rejects with a `ConfigError`. */
  open(options: LocationOptions, open: OpenOptions): Promise<OpenedConfiguration>;
  /** Throws or rejects with a `ConfigError`, or a `CliError` when the configuration does not say. */
  access(options: GatewayCommandOptions): GatewayAccess | Promise<GatewayAccess>;
  /** The endpoints of the models that agents use; absent for a gateway that has models of its own. */
  modelEndpoints?(options: LocationOptions): Promise<readonly ModelEndpoint[]>;
  /** Tries whether the programs of agents can be confined here; absent for a gateway that starts none. */
  tryConfinement?(options: LocationOptions): Promise<TriedConfinement>;
  /** Asks each model that an agent uses for a word, for real; absent for a gateway that has models of its own. */
  tryModels?(options: LocationOptions): Promise<readonly TriedModel[]>;
}

/** Whether programs can be confined, and the agents that have some to confine. */
export interface TriedConfinement {
  readonly agents: readonly string[];
  /** `undefined`: it works. */
  readonly problem: string | undefined;
}

/** A model and the agents that use it, and why it did not answer. */
export interface TriedModel {
  readonly model: string;
  readonly agents: readonly string[];
  /** `undefined`: it answered. */
  readonly problem: string | undefined;
  readonly ms: number;
}

/** An endpoint of models, with the headers that it takes. */
export interface ModelEndpoint {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The facts about a gateway in its configuration alone. */
interface IdleHostFacts extends Pick<GatewayHost, "name" | "lifecycle" | "logger" | "paths"> {
  /** The last part of a main session's key. */
  readonly mainKey: string;
  readonly agents: Omit<GatewayHost["agents"], "run">;
  readonly channels: ReturnType<GatewayHost["channels"]["list"]>;
}

/** A host whose plugins can be given a configuration and nothing else. */
export function idleHost({ name, lifecycle, logger, paths, mainKey, agents, channels }: IdleHostFacts): GatewayHost {
  const refuse = (): Promise<never> =>
    Promise.reject(
      new HostError("The gateway is not running; its configuration is being checked.", { retryable: false }),
    );
  return {
    name,
    lifecycle,
    sessions: {
      mainSessionKey: (agentId) => `agent:${agentId}:${mainKey}`,
      enqueueSystemEvent: refuse,
      requestHeartbeat: () => {},
    },
    agents: { ...agents, run: refuse },
    // Of conversations nothing is known here.
    channels: { list: () => channels, lastRoute: () => Promise.resolve(undefined), send: refuse },
    logger,
    paths,
    clock: { now: () => Date.now() },
  };
}
