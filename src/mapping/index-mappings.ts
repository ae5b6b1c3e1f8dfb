import type { PayloadFormat } from "../core/delivery.ts";
import type { CompiledMapping } from "./compile-mapping.ts";

/** Senders that sign send up to this, unless their documentation names a smaller limit: 413 is permanent to them. */
const MIN_SIGNED_BODY_BYTES = 1_048_576;

/** A mapping and its place in the order of all mappings. */
interface Placed {
  readonly order: number;
  readonly mapping: CompiledMapping;
}

/**
 * The facts of a route that are needed before its body is read. Which mapping owns a request is
 * known only after that, so this is the widest of all that could; the owner's own is asked then.
 */
export interface BodyRules {
  readonly maxBodyBytes: number;
  readonly accept: readonly PayloadFormat[];
}

/** The first mapping of one path for each source, and the first that takes any source. */
interface SourceTable {
  readonly bySource: Map<string, Placed>;
  anySource: Placed | undefined;
  first: Placed | undefined;
  /** Of its own mappings, and of those together with the mappings of any path. */
  ownRules: BodyRules | undefined;
  rules: BodyRules | undefined;
}

/**
 * Finds the first mapping that matches, at a cost that does not grow with their number.
 *
 * Mappings match by path (exact, case-sensitive, leading and trailing slashes ignored) and by the
 * payload's own string field `source`. The first match in configuration order owns the request.
 */
export class MappingIndex {
  readonly #byPath = new Map<string, SourceTable>();
  readonly #anyPath: SourceTable;
  readonly #defaultMaxBodyBytes: number;

  constructor(mappings: readonly CompiledMapping[], options: { maxBodyBytes: number }) {
    this.#defaultMaxBodyBytes = options.maxBodyBytes;
    this.#anyPath = emptyTable();
    for (const [order, mapping] of mappings.entries()) this.#add({ order, mapping });
    for (const table of this.#byPath.values()) {
      table.ownRules = table.rules;
      table.rules = widest(table.rules, this.#anyPath.rules);
    }
  }

  /** True when mappings name the path. */
  hasPath(path: string): boolean {
    return this.#byPath.has(trimSlashes(path));
  }

  /** The mapping that owns a request, or `undefined`. */
  resolve(path: string, payload: unknown): CompiledMapping | undefined {
    const ofPath = this.#byPath.get(trimSlashes(path));
    const source = sourceOf(payload);
    const specific = ofPath && firstOf(ofPath, source);
    const general = firstOf(this.#anyPath, source);
    return earlier(specific, general)?.mapping;
  }

  /**
   * The mapping that owns a request on a path whose requests are taken by the path's own mappings
   * alone; the first of them when the payload's source is none of theirs.
   */
  resolveOn(path: string, payload: unknown): CompiledMapping | undefined {
    const ofPath = this.#byPath.get(path);
    return ofPath && (firstOf(ofPath, sourceOf(payload)) ?? ofPath.first)?.mapping;
  }

  /** The rules for a body on that path, or `undefined` when no mapping could own a request there. */
  bodyRules(path: string): BodyRules | undefined {
    const ofPath = this.#byPath.get(trimSlashes(path))?.rules;
    return ofPath ?? this.#anyPath.rules;
  }

  /** The same for a path that only its own mappings take. */
  bodyRulesOn(path: string): BodyRules | undefined {
    return this.#byPath.get(path)?.ownRules;
  }

  /** The rules for a body of one mapping. */
  rulesOf({ config }: CompiledMapping): BodyRules {
    const isSigned = config.preset !== undefined && config.auth?.scheme === "signature";
    const ordinary = Math.max(this.#defaultMaxBodyBytes, isSigned ? MIN_SIGNED_BODY_BYTES : 0);
    return {
      maxBodyBytes: config.maxBodyBytes ?? ordinary,
      accept: config.accept,
    };
  }

  #add(placed: Placed): void {
    const { match } = placed.mapping.config;
    const table = match.path ? this.#tableOf(match.path) : this.#anyPath;
    if (!match.source) table.anySource ??= placed;
    else if (!table.bySource.has(match.source)) table.bySource.set(match.source, placed);
    table.first ??= placed;
    table.rules = widest(table.rules, this.rulesOf(placed.mapping));
  }

  #tableOf(path: string): SourceTable {
    let table = this.#byPath.get(path);
    if (!table) this.#byPath.set(path, (table = emptyTable()));
    return table;
  }
}

function emptyTable(): SourceTable {
  return { bySource: new Map(), anySource: undefined, first: undefined, ownRules: undefined, rules: undefined };
}

function widest(left: BodyRules | undefined, right: BodyRules | undefined): BodyRules | undefined {
  if (!left || !right) return left ?? right;
  return {
    maxBodyBytes: Math.max(left.maxBodyBytes, right.maxBodyBytes),
    accept: [...new Set([...left.accept, ...right.accept])],
  };
}

function firstOf(table: SourceTable, source: string | undefined): Placed | undefined {
  const ofSource = source === undefined ? undefined : table.bySource.get(source);
  return earlier(ofSource, table.anySource);
}

function earlier(left: Placed | undefined, right: Placed | undefined): Placed | undefined {
  if (!left || !right) return left ?? right;
  return left.order < right.order ? left : right;
}

/** The payload's own string field `source`. */
export function sourceOf(payload: unknown): string | undefined {
  if (typeof payload !== "object" || payload === null || !Object.hasOwn(payload, "source")) {
    return undefined;
  }
  const { source } = payload as { source: unknown };
  return typeof source === "string" ? source : undefined;
}

const SLASH = 47;

/** Strips slashes at both ends without a regular expression: paths come from the network. */
export function trimSlashes(path: string): string {
  let start = 0;
  let end = path.length;
  while (start < end && path.charCodeAt(start) === SLASH) start++;
  while (end > start && path.charCodeAt(end - 1) === SLASH) end--;
  return start === 0 && end === path.length ? path : path.slice(start, end);
}
