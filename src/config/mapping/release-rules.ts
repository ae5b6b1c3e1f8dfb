/** What a release needs, and what it may not rest on. */
import { signsBody } from "../auth/content.ts";
import { readCondition } from "../condition-syntax.ts";
import type { Findings } from "../errors.ts";
import type { PresetPart } from "../preset.ts";
import type { MappingConfig } from "./schema.ts";

const PLACEHOLDER = /\{\{[^}]+\}\}/u;
/** Placeholders of what no signature of a body covers. */
const UNSIGNED = /\{\{\s*(?:headers|query)\.|\{\{\s*(?:path|now)\s*\}\}/u;

/** Refuses a release that could not work, or that would rest on what the sender does not sign. */
export function checkRelease(
  { where, release, leastLevel, auth }: MappingConfig,
  part: PresetPart,
  findings: Findings,
): void {
  if (release === undefined) return;
  const refuse = (key: string, message: string): void => findings.refuse(`${where}.release${key}`, message);
  if (leastLevel?.below !== "quarantine") refuse("", "has nothing to release: write minLevel, which holds events");
  if (!part.vouchesForActors) {
    refuse("", `cannot be used: the preset ${part.name} does not authenticate who acted, so everyone is unknown`);
  } else if (auth === undefined || (auth.scheme === "signature" && !signsBody(auth))) {
    refuse("", "needs a sender that signs the body: whoever has the token could write any account into a payload");
  }
  if (part.eventSource === undefined)
    refuse(".on", `would take nothing: the preset ${part.name} has no names for its events`);
  if (release.object === undefined && !part.knowsObjects) {
    refuse("", `needs object, a template: the preset ${part.name} does not know what its events are about`);
  }
  for (const key of ["object", "text"] as const) {
    const written = release[key];
    if (written === undefined) continue;
    if (!PLACEHOLDER.test(written)) refuse(`.${key}`, "is the same for every event: write a template");
    else if (UNSIGNED.test(written))
      refuse(`.${key}`, "reads what the signature does not cover; read the payload alone");
  }
  const syntax = release.when === undefined ? undefined : readCondition(release.when);
  if (syntax?.ok === false) refuse(".when", syntax.problem);
}
