/** Presets whose module or plugin fails to load: what names one is set aside, and the rest of the block is read. */
import type { ConfigIssue } from "./errors.ts";
import { HooksSchema, type MappingInput } from "./hooks.ts";
import { fillIn } from "./mapping/normalize.ts";
import type { MappingConfig } from "./mapping/schema.ts";
import { DEFAULT_RETRY } from "./retry.ts";
import { Findings } from "./errors.ts";
import { brokenBy, UNVERIFIABLE } from "./set-aside.ts";
import { closestKey, showKeyPath } from "./show-value.ts";

/** A module or plugin that fails to load, so that its presets are not known. */
export interface MissingPresets extends ConfigIssue {
  /** The name that its preset seems to have. */
  readonly name?: string;
  /** True: no hook takes calls without it, since it may hold rules that deny some. */
  readonly closesHooks?: boolean;
}

/** A module or plugin that fails to load, whose presets are those of the version before. */
export interface KeptPresets extends ConfigIssue {
  readonly names: readonly string[];
}

/** A block without what names a missing preset. */
export interface BlockWithoutMissing {
  readonly block: unknown;
  /** The places in `hooks.mappings` that are empty now. */
  readonly places: ReadonlySet<number>;
  /** The parts that were left out, as mappings that are set aside. */
  readonly brought: readonly MappingConfig[];
}

interface KnownPresets {
  readonly missing: readonly MissingPresets[];
  readonly presets: ReadonlyMap<string, unknown>;
}

/** Leaves out what names a preset that is not there, when something that may bring it is missing. */
export function leaveOutMissing(raw: unknown, { missing, presets }: KnownPresets): BlockWithoutMissing {
  const block = objectOf(raw);
  if (missing.length === 0 || block === undefined) return { block: raw, places: new Set(), brought: [] };
  const known = [...presets.keys()];
  const guesses = new Set(missing.map(({ name }) => name));
  const isMissing = (name: unknown): name is string =>
    typeof name === "string" &&
    !presets.has(name.trim()) &&
    (guesses.has(name.trim()) || closestKey(name.trim(), known) === undefined);
  const issueOf = (preset: string): ConfigIssue => missing.find(({ name }) => name === preset.trim()) ?? missing[0]!;
  const brought: MappingConfig[] = [];
  const set = (preset: string, path: unknown, { id, where, source }: Place): void => {
    const at = typeof path === "string" ? path : preset;
    brought.push(brokenMapping({ preset, path: at, id, where, source }, issueOf(preset)));
  };

  const enabled = listOf(block["presets"]);
  for (const name of enabled.filter(isMissing)) {
    set(name.trim(), objectOf(block[name.trim()])?.["path"], {
      id: name.trim(),
      where: showKeyPath(["hooks", name.trim()]),
    });
  }
  const places = new Set<number>();
  const mappings = listOf(block["mappings"]).map((written, at) => {
    const { preset, match, id } = objectOf(written) ?? {};
    if (!isMissing(preset)) return written;
    places.add(at);
    const { path, source } = objectOf(match) ?? {};
    const ownId = typeof id === "string" ? id : `mapping-${at + 1}`;
    set(preset.trim(), path, { id: ownId, where: `hooks.mappings[${at}]`, source });
    return {};
  });
  const senders = Object.entries(objectOf(block["senders"]) ?? {}).filter(([name, written]) => {
    const { preset, path } = objectOf(written) ?? {};
    if (!isMissing(preset)) return true;
    set(preset.trim(), path ?? name, { id: name, where: showKeyPath(["hooks", "senders", name]) });
    return false;
  });
  const named = new Set([...guesses, ...brought.map(({ preset }) => preset)]);
  const keys = [...Object.keys(HooksSchema.properties), ...known];
  const others = Object.entries(block).filter(([key, value]) => {
    if (Object.hasOwn(HooksSchema.properties, key) || presets.has(key) || objectOf(value) === undefined) return true;
    return !named.has(key) && closestKey(key, keys) !== undefined;
  });
  return {
    block: {
      ...Object.fromEntries(others),
      ...("presets" in block &&
        Array.isArray(block["presets"]) && { presets: enabled.filter((name) => !isMissing(name)) }),
      ...("mappings" in block && Array.isArray(block["mappings"]) && { mappings }),
      ...(objectOf(block["senders"]) && { senders: Object.fromEntries(senders) }),
    },
    places,
    brought,
  };
}

/** The warnings about what is missing or kept. */
export function missingLines(missing: readonly MissingPresets[], kept: readonly KeptPresets[]): ConfigIssue[] {
  return [
    ...missing.map(({ path, message, closesHooks = false }) => ({
      path,
      message: `${message}; ${closesHooks ? CLOSED : "what names its presets is set aside, and those calls are answered 503"}`,
    })),
    ...kept.map(({ path, message }) => ({
      path,
      message: `${message}; the version before stays active for this part`,
    })),
  ];
}

/** The reason why no hook takes calls; `undefined` when they do. */
export function closedBy(missing: readonly MissingPresets[]): string | undefined {
  const source = missing.find(({ closesHooks }) => closesHooks);
  return source && `${source.path}: ${source.message}; ${CLOSED}`;
}

const CLOSED =
  "it may hold rules, so all hooks answer 503 until it loads; to serve without it, disable it in plugins.entries or remove it";

interface Place {
  readonly id: string;
  readonly where: string;
  readonly source?: unknown;
}

/** Any call of the path, and of what is below it, is answered 503 before it is verified. */
function brokenMapping(
  { preset, path, id, where, source }: Place & { readonly preset: string; readonly path: string },
  issue: ConfigIssue,
): MappingConfig {
  const match = { path, ...(typeof source === "string" && { source }) };
  const input: MappingInput = { match, action: "wake", textTemplate: "-" };
  const mapping = fillIn(input, { id, where, retry: DEFAULT_RETRY }, new Findings());
  return brokenBy({ ...mapping, preset, sender: preset, auth: UNVERIFIABLE }, issue);
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
