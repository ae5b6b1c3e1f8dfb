import { isDeepStrictEqual } from "node:util";
import type { Findings } from "./findings.ts";
import type { MappingConfig } from "./hooks-config.ts";
import { ENDPOINTS, pathKeyOf } from "./mapping-rules.ts";
import { showValue } from "./show-value.ts";

/**
 * Refuses mappings whose sender nobody could tell before the body is read: which scheme a request is held
 * to follows from its path alone, so all mappings of a path have the same.
 */
export function checkRoutes(mappings: readonly MappingConfig[], findings: Findings): void {
  const first = new Map<string, MappingConfig>();
  const parents = new Map(mappings.filter(takesPathSecret).map((mapping) => [mapping.match.path, mapping]));
  for (const mapping of mappings) {
    const { where, match, auth } = mapping;
    if (match.path === undefined) {
      refuseAnyPath(mapping, findings);
      continue;
    }
    if (auth !== undefined && ENDPOINTS.has(match.path)) {
      findings.refuse(
        pathKeyOf(mapping),
        `${showValue(match.path)} is a built-in endpoint, which takes the hook token alone; choose another path for a sender with auth`,
      );
    }
    const parent = parents.get(match.path.slice(0, Math.max(0, match.path.lastIndexOf("/"))));
    if (parent !== undefined && auth === undefined) {
      findings.refuse(
        pathKeyOf(mapping),
        `${showValue(match.path)} is below ${showValue(parent.match.path)}, where ${parent.where} takes the last segment for its secret; choose another path`,
      );
    }
    const other = first.get(match.path);
    if (other === undefined) first.set(match.path, mapping);
    else if (!isDeepStrictEqual(other.auth, auth)) {
      findings.refuse(
        where,
        `has the path ${showValue(match.path)} like ${other.where}, and another auth or secret: give both the same, or another path to one`,
      );
    }
  }
}

function takesPathSecret({ auth }: MappingConfig): boolean {
  return auth?.scheme === "secret" && auth.from.includes("path");
}

function refuseAnyPath({ where, auth, handshakes, methods }: MappingConfig, findings: Findings): void {
  const why =
    (auth !== undefined && "a sender with auth") ||
    (handshakes.length > 0 && "a handshake") ||
    (methods.length > 0 && "another method");
  if (why) findings.refuse(`${where}.match.path`, `is required: ${why} needs a path of its own`);
}
