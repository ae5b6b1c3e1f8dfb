/** The models that the host lets callers of an agent choose. */
import { type Fields, fieldsAt, isFields } from "./fields.ts";

/**
 * What the host's policy lists: references, aliases, and `<provider>/*`; `undefined`: any model. An agent's own list
 * replaces that of the defaults. Where there is neither, the models of the defaults are the list, as before 2026.8.1,
 * unless the host has noted that it has carried that over.
 */
export function modelPolicy(config: Fields, agent: Fields = {}): readonly string[] | undefined {
  const defaults = fieldsAt(config, "agents", "defaults");
  const policies = [agent["modelPolicy"], defaults["modelPolicy"]].filter(isFields);
  const owner = policies.find((policy) => Object.hasOwn(policy, "allow"));
  if (owner !== undefined) return someOf(Array.isArray(owner["allow"]) ? owner["allow"] : []);
  const isCarriedOver = fieldsAt(config, "meta", "migrations")["modelPolicyAllowlist"] === true;
  return isCarriedOver || isFields(defaults["modelPolicy"]) ? undefined : someOf(Object.keys(modelsOf(config)));
}

/** An empty list is none to the host. */
function someOf(written: readonly unknown[]): readonly string[] | undefined {
  const listed = written.filter((entry) => typeof entry === "string" && entry.trim() !== "") as string[];
  return listed.length > 0 ? listed.map((entry) => entry.trim()) : undefined;
}

/** True when a policy allows a model, by its reference or an alias. */
export function allowsModel(config: Fields, policy: readonly string[] | undefined, wanted: string): boolean {
  if (policy === undefined) return true;
  const names = modelNames(config);
  const reference = nameIn(names, wanted);
  return policy.some((entry) =>
    isWildcard(entry) ? reference.startsWith(entry.slice(0, -1)) : nameIn(names, entry) === reference,
  );
}

/** What a policy allows, with the aliases; `undefined`: any model, or more than can be listed. */
export function listedModels(config: Fields, policy: readonly string[] | undefined): readonly string[] | undefined {
  if (policy === undefined || policy.some(isWildcard)) return undefined;
  const names = modelNames(config);
  const models = modelsOf(config);
  return policy.flatMap((entry) => {
    const reference = nameIn(names, entry);
    const alias = fieldsAt(models, reference)["alias"];
    return typeof alias === "string" && alias !== "" ? [reference, alias] : [reference];
  });
}

function isWildcard(entry: string): boolean {
  return entry.endsWith("/*");
}

/** References by themselves and by their aliases in lower case. */
export function modelNames(config: Fields): ReadonlyMap<string, string> {
  const models = Object.entries(modelsOf(config));
  const names = new Map<string, string>();
  for (const [reference, model] of models) {
    const alias = isFields(model) ? model["alias"] : undefined;
    if (typeof alias === "string" && alias !== "") names.set(alias.toLowerCase(), reference);
  }
  for (const [reference] of models) names.set(reference, reference);
  return names;
}

/** The reference that an alias means, whose case does not count; anything else as it is. */
export function nameIn(names: ReadonlyMap<string, string>, wanted: string): string {
  return names.get(wanted) ?? names.get(wanted.toLowerCase()) ?? wanted;
}

function modelsOf(config: Fields): Fields {
  return fieldsAt(config, "agents", "defaults", "models");
}
