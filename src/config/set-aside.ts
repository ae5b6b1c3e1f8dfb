import type { ConfigIssue, Findings } from "./errors.ts";
import type { MappingConfig } from "./mapping/schema.ts";

/**
 * Sets aside the mappings that only miss something outside of the configuration: their issues become
 * warnings. `undefined` when an issue concerns more than such a mapping, or one that `mustWork`.
 */
export function setAside(
  mappings: readonly MappingConfig[],
  findings: Findings,
  mustWork: (mapping: MappingConfig) => boolean,
): readonly MappingConfig[] | undefined {
  const reasons = new Map<MappingConfig, ConfigIssue>();
  for (const issue of findings.issues) {
    const mapping = issue.isReference === true ? mappings.find((each) => isPartOf(issue, each)) : undefined;
    if (mapping === undefined || mustWork(mapping)) return undefined;
    reasons.set(mapping, issue);
  }
  for (const { path, message } of findings.issues) {
    findings.warn(path, `${message}; this part is set aside, and its calls are answered 503`);
  }
  return mappings.map((mapping) => {
    const reason = reasons.get(mapping);
    return reason === undefined ? mapping : { ...mapping, broken: `${reason.path}: ${reason.message}` };
  });
}

function isPartOf({ path }: ConfigIssue, { where }: MappingConfig): boolean {
  return path.startsWith(`${where}.`);
}
