import type { MappingConfig } from "../../../config/mapping/schema.ts";
import type { MigrationNotes, MigratedBlock } from "./notes.ts";
import type { HostMapping } from "./hooks-schema.ts";
import { hasTemplatedKey } from "./translate-mapping.ts";

/** The URL path of a mapping, for people. */
export function routeOf(prefix: string): (mapping: Pick<MappingConfig, "match">) => string {
  return ({ match }) => {
    const path = `${prefix}/${match.path ?? "<any>"}`;
    return match.source === undefined ? path : `${path} (source ${JSON.stringify(match.source)})`;
  };
}

/** Credentials in the names under which templates find headers. */
const CREDENTIAL_HEADER = /\{\{\s*headers\.(?:authorization|x-openclaw-token|cookie|proxy-authorization)\s*\}\}/;

/** Tells what changes for single mappings of the block. */
export function reportMappings({ hooks, read }: MigratedBlock, notes: MigrationNotes): void {
  const mappings = hooks.mappings ?? [];
  for (const [at, written] of mappings.entries()) {
    const where = `hooks.mappings[${at}]`;
    const mapping = read.mappings.find((candidate) => candidate.where === where);
    if (mapping === undefined) continue;
    const note = (text: string, key = ""): void => notes.add("behavior", text, where + key);
    reportContent(written, mapping, note);
    reportSession(written, read.allowRequestSessionKey, note);
    if (written.thinking !== undefined && written.action !== "wake") {
      note("has no effect: OpenClaw lets no plugin choose it, and the agent's own level is used.", ".thinking");
    }
    if (written.transform !== undefined && read.transforms.isolation === "process") reportTransform(note);
  }
}

type AddMappingNote = (text: string, key?: string) => void;

function reportContent(written: HostMapping, mapping: MappingConfig, note: AddMappingNote): void {
  if (mapping.action === "wake" && !mapping.allowUnsafeExternalContent) {
    note(
      "the text of the wake reaches the agent inside the boundary around untrusted content; allowUnsafeExternalContent: true leaves it away, for sources whose every word you trust.",
    );
  }
  if (mapping.forEach !== undefined) {
    note(`more than 200 items of "${mapping.forEach}" are answered 413, where OpenClaw drops the rest.`, ".forEach");
  }
  const templates = [written.messageTemplate, written.textTemplate, written.name, written.to, written.sessionKey];
  if (templates.some((template) => template !== undefined && CREDENTIAL_HEADER.test(template))) {
    note("{{headers.authorization}} and other headers that carry a credential print nothing: the token stays hidden.");
  }
}

function reportSession(written: HostMapping, isAllowed: boolean, note: AddMappingNote): void {
  if (written.action === "wake" || written.sessionKey === undefined || written.sessionKey.trim() === "") return;
  // Reading the block reports it: such calls are answered 400.
  if (hasTemplatedKey(written) && !isAllowed) return;
  note("decides which runs follow one another; each has a session of its own in OpenClaw.", ".sessionKey");
}

function reportTransform(note: AddMappingNote): void {
  note(
    "runs in a process of its own that can only compute: no files, no network, no environment, 2 seconds a call, and the token is not among its headers. One that needs more: adopt with --transforms none. A module that cannot be loaded disables the whole block.",
    ".transform",
  );
}
