import { isTemplated } from "../../../config/session.ts";
import type { MigrationNotes } from "./notes.ts";
import { fieldsAt } from "../fields.ts";
import type { Fields } from "../fields.ts";
import { nameIn } from "../model-policy.ts";
import type { HostFacts } from "./host-facts.ts";

/** The model choices of a block, collected while it is translated. */
export class ModelChoices {
  /** References as they are written into `allowedModels`. */
  readonly references = new Set<string>();
  /** True when not every choice is known beforehand. */
  isOpen = false;
  /** The keys that choose. */
  readonly paths: string[] = [];
}

export interface ModelContext {
  readonly facts: Pick<HostFacts, "models" | "allowsModel">;
  readonly notes: MigrationNotes;
  readonly models: ModelChoices;
  /** False for a model that no provider here has; absent: the host has its own. */
  readonly hasProvider?: (reference: string) => boolean;
  /** Replaces `${NAME}`. */
  resolve(text: string): string;
}

const NO_PROVIDER =
  "names a model whose provider is not in models.providers here, so it is left out and the agent's own model is used.";
const NOT_ALLOWED =
  "names a model that OpenClaw lets no one choose, so it is left out and the agent's own model is used; add it to agents.defaults.modelPolicy.allow (before 2026.8.1: agents.defaults.models) and write the key into our block to have it back.";

/** A model as our block has it, or `undefined` for the agent's own; one that cannot be chosen is noted. */
export function translateModel(written: string | undefined, path: string, context: ModelContext): string | undefined {
  const model = written?.trim();
  if (model === undefined || model === "") return undefined;
  const { facts, notes, models } = context;
  if (isTemplated(model)) {
    models.isOpen = true;
    models.paths.push(path);
    return model;
  }
  const resolved = context.resolve(model).trim();
  const reference = nameIn(facts.models, resolved);
  const missing =
    context.hasProvider?.(reference) === false ? NO_PROVIDER : facts.allowsModel(reference) ? undefined : NOT_ALLOWED;
  if (missing !== undefined) {
    notes.add("lost", missing, path);
    return undefined;
  }
  models.paths.push(path);
  // Only the host can resolve a name without its provider, and its list takes whole references alone.
  if (!reference.includes("/")) models.isOpen = true;
  const kept = reference === resolved ? model : reference;
  if (kept !== model) notes.add("written", `is written as "${reference}", which the alias means.`, path);
  models.references.add(kept);
  return kept;
}

/** `subagent` of our entry with what the block needs; an `error` when the owner has forbidden it. */
export function grantModels(
  entry: Fields,
  models: ModelChoices,
  notes: MigrationNotes,
): { readonly subagent?: Fields; readonly error?: string } {
  if (models.paths.length === 0) return {};
  const policy = fieldsAt(entry, "subagent");
  const [first = ""] = models.paths;
  if (policy["allowModelOverride"] === false) {
    return {
      error: `plugins.entries.reveille.subagent.allowModelOverride is false, and ${first} chooses a model; remove the one or the other.`,
    };
  }
  const listed = policy["allowedModels"];
  const before = Array.isArray(listed) ? listed.filter((model) => typeof model === "string") : undefined;
  const isFree = before === undefined && (models.isOpen || policy["allowModelOverride"] === true);
  const list = isFree ? undefined : [...new Set([...(before ?? []), ...models.references])];
  const subagent = { ...policy, allowModelOverride: true, ...(list === undefined ? {} : { allowedModels: list }) };
  if (models.isOpen && before !== undefined && !before.includes("*")) {
    notes.add(
      "todo",
      `${models.paths.join(", ")}: the model is known at the call only; plugins.entries.reveille.subagent.allowedModels has to name each that may come.`,
    );
  }
  notes.add(
    "written",
    list === undefined
      ? `lets runs choose any model, since ${first} cannot be known beforehand; narrow it with allowedModels.`
      : `lets runs choose ${list.join(", ")}: OpenClaw takes no model from a plugin without it.`,
    "plugins.entries.reveille.subagent",
  );
  return { subagent };
}
