import { isTemplated } from "../../../config/session-rules.ts";
import { isBareReference } from "./environment-references.ts";
import type { MigratedConfig } from "./migrate-config.ts";
import { fieldsAt, isFields } from "./fields.ts";
import type { Fields } from "./fields.ts";
import { PLUGIN_ID } from "./plugin-section.ts";

/** In the place of a secret that the file holds as before. */
const UNCHANGED = "<unchanged>";

/** What is written, by the key that holds it; a secret is shown as the reference it is, or not at all. */
export function redactedBlocks({ config }: Pick<MigratedConfig, "config">): Fields {
  const where = `plugins.entries.${PLUGIN_ID}`;
  const entry = fieldsAt(config, "plugins", "entries", PLUGIN_ID);
  const block = fieldsAt(entry, "config");
  const allow: unknown = fieldsAt(config, "plugins")["allow"];
  return {
    "hooks.enabled": false,
    ...(Array.isArray(allow) ? { "plugins.allow": allow } : {}),
    [`${where}.enabled`]: true,
    ...(entry["subagent"] === undefined ? {} : { [`${where}.subagent`]: entry["subagent"] }),
    [`${where}.config`]: {
      ...block,
      ...(block["token"] === undefined ? {} : { token: redactedSecret(block["token"]) }),
      ...(Array.isArray(block["mappings"]) ? { mappings: block["mappings"].map(redactedMapping) } : {}),
    },
  };
}

/** OpenClaw counts the session of a mapping among its secrets; a template is none, as the payload completes it. */
function redactedMapping(mapping: unknown): unknown {
  if (!isFields(mapping) || mapping["sessionKey"] === undefined) return mapping;
  const { sessionKey } = mapping;
  const isTemplate = typeof sessionKey === "string" && isTemplated(sessionKey);
  return { ...mapping, sessionKey: isTemplate ? sessionKey : redactedSecret(sessionKey) };
}

function redactedSecret(written: unknown): unknown {
  return typeof written === "string" && isBareReference(written) ? written : UNCHANGED;
}
