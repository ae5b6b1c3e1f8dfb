import type { ChannelMessage, Clock, GatewayPlugin, Logger } from "../../core/host.ts";
import type { HostStoreOptions } from "../shared/open-store.ts";
import type { GuardedFetch } from "../../http/guarded-fetch.ts";
import type { GatewayOverrides } from "./config/gateway.ts";
import type { Environment } from "./config/substitute-env.ts";
import type { EventTimings } from "./subscriptions/events/event-subscription.ts";
import type { ToolTimings } from "./tunnel/public-address.ts";

/** What the program that embeds a gateway chooses. */
export interface GatewayOptions extends GatewayOverrides {
  readonly configFile: string;
  /** Folder of the database; made when it does not exist. */
  readonly stateDir: string;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** True: a mapping that refers to something missing refuses the configuration; otherwise it is set aside. */
  readonly strict?: boolean | undefined;
  /** True: the database is opened also when calls that were accepted are missing from it; it is rewritten first. */
  readonly acceptLoss?: boolean | undefined;
  readonly compact?: boolean | undefined;
  /** Called before each step by which the database of an earlier version gets the form of this one. */
  readonly onUpdate?: HostStoreOptions["onUpdate"];
  /** Prints a message of the channel `console` on the terminal of the program. Absent: it is kept, and not printed. */
  readonly print?: ((message: ChannelMessage) => void) | undefined;
  /** Called with the URL of the hooks each time when the tool of `gateway.expose` has given one. */
  readonly onHooksUrl?: ((url: string) => void) | undefined;
  /** Of the restarts of that tool; the defaults are in `tunnel/public-address.ts`. */
  readonly toolTimings?: Partial<ToolTimings> | undefined;
  /** Of subscriptions to events; the defaults are in `subscriptions/events/event-subscription.ts`. */
  readonly eventTimings?: Partial<EventTimings> | undefined;
  /** How events are sent to subscribers; for tests, whose receivers are on this machine. */
  readonly eventFetch?: GuardedFetch | undefined;
  /** For `${VAR}` and `{ env }`; the process's own when absent. */
  readonly env?: Environment;
  /**
   * Plugins of the program that embeds the gateway; applied after those of the configuration. When
   * `plugins` changes in the file, the same instances are applied once more, to a new host object with
   * hooks of its own; `onShutdown` of the object before fires after the new one has become active, and
   * what an instance has for both is not to be closed by it.
   */
  readonly plugins?: readonly GatewayPlugin[];
}
