/** The findings of `openclaw security audit` about the plugin's block. */
import { dirname } from "node:path";
import { auditHooks } from "../../config/audit.ts";
import { ConfigError, configLines } from "../../config/errors.ts";
import { qualifyKeys } from "../../config/qualify-keys.ts";
import { readHooksConfig } from "../../config/read-hooks.ts";
import { BUILT_IN_PRESETS } from "../../presets/built-in.ts";
import { blockKey } from "./plugin-block.ts";
import { agentCatalog, channelList, gatewayFacts, pluginBlock } from "./read-config.ts";
import type { OpenClawAuditContext, OpenClawAuditFinding } from "./sdk.ts";

const SEVERITY = { info: "info", warning: "warn", critical: "critical" } as const;

export interface SecurityAuditOptions {
  readonly pluginId: string;
  /** The block with the defaults of this host. */
  readonly block: (written: unknown) => unknown;
}

/** Audits the block of a configuration of the host; one without a block has no findings. */
export function auditSecurity(
  { config, sourceConfig, env, configPath }: OpenClawAuditContext,
  { pluginId, block }: SecurityAuditOptions,
): readonly OpenClawAuditFinding[] {
  const written = pluginBlock(config, pluginId);
  if (written === undefined) return [];
  const gateway = gatewayFacts(config, { ...env });
  const key = blockKey(pluginId);
  try {
    const read = readHooksConfig(block(written), {
      configDir: dirname(configPath),
      gateway,
      agents: agentCatalog(config, pluginId),
      channels: channelList(config),
      presets: new Map(BUILT_IN_PRESETS.map((preset) => [preset.name, preset])),
      env,
    });
    return auditHooks(read.config, gateway, pluginBlock(sourceConfig, pluginId)).map(
      ({ id, severity, path, message }) => ({
        checkId: `${pluginId}.${id}`,
        severity: SEVERITY[severity],
        title: `Webhooks: ${qualifyKeys(path, key)}`,
        detail: qualifyKeys(`${path} ${message}`, key),
      }),
    );
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [
      {
        checkId: `${pluginId}.config_refused`,
        severity: "warn",
        title: "Webhooks: the block is refused",
        detail: configLines(error.issues)
          .map((line) => qualifyKeys(line, key))
          .join("\n"),
      },
    ];
  }
}
