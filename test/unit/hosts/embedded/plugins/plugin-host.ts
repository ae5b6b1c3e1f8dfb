import { createLifecycle } from "../../../../../src/hosts/shared/lifecycle.ts";
import type { GatewayHost } from "../../../../../src/core/host.ts";
import { recordingLogger } from "../server/recording-logger.ts";
import type { LogLine } from "../server/recording-logger.ts";

/** As much of a host as plugins are applied to. */
export function pluginHost(): { readonly host: GatewayHost; readonly lines: readonly LogLine[] } {
  const logger = recordingLogger();
  const host = { name: "test", lifecycle: createLifecycle(), logger } as Partial<GatewayHost> as GatewayHost;
  return { host, lines: logger.lines };
}
