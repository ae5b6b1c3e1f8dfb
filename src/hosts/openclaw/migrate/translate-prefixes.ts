import { hasPrefix, readPrefixes } from "../../../config/session-rules.ts";
import { hasReference } from "./environment-references.ts";
import type { HostHooks } from "./host-hooks-schema.ts";
import { hasTemplatedKey, notBlank } from "./translate-mapping.ts";
import type { TranslateContext } from "./translate-mapping.ts";

const GENERATED = "hook:";

/**
 * The prefixes of session keys. A block of before 2026.4.20 may have templated keys and no prefixes: then
 * they are taken from what stands before the templates. Where nothing does, the block stays as it is, and
 * reading it tells what to write.
 */
export function translatePrefixes(hooks: HostHooks, { notes }: TranslateContext): readonly string[] | undefined {
  const written = hooks.allowedSessionKeyPrefixes;
  const mappings = hooks.mappings ?? [];
  const templated = mappings.filter(hasTemplatedKey);
  if (readPrefixes(written).length > 0 || templated.length === 0) return written;
  const starts = templated.map(({ sessionKey = "" }) => startOf(sessionKey));
  if (starts.some((start) => start === "" || hasReference(start))) return written;
  const fixed = mappings.flatMap((mapping) => {
    const key = notBlank(mapping.sessionKey)?.trim();
    return key === undefined || mapping.action === "wake" || hasTemplatedKey(mapping) ? [] : [key];
  });
  const wanted = [notBlank(hooks.defaultSessionKey)?.trim() ?? GENERATED, ...starts, ...fixed];
  if (wanted.some(hasReference)) return written;
  const prefixes = shortest(readPrefixes(wanted));
  notes.add(
    "written",
    `is ${JSON.stringify(prefixes)}, from the keys that are written: a key that is a template needs it, as in OpenClaw since 2026.4.20.`,
    "plugins.entries.reveille.config.allowedSessionKeyPrefixes",
  );
  return prefixes;
}

/** What stands before the first template. */
function startOf(key: string): string {
  return key.trimStart().split("{{")[0] ?? "";
}

/** Without those that another one covers. */
function shortest(prefixes: readonly string[]): string[] {
  return prefixes.filter((prefix) => !prefixes.some((other) => other !== prefix && hasPrefix(prefix, [other])));
}
