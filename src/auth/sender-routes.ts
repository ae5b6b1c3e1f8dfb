import { isDeepStrictEqual } from "node:util";
import type { AuthConfig } from "../config/auth/schema.ts";
import { ConfigError } from "../config/errors.ts";
import type { Handshake } from "../config/handshake.ts";
import type { MappingConfig } from "../config/mapping/schema.ts";
import { compileHandshakes, type CompiledHandshakes } from "./handshake/handshake.ts";
import { compileScheme } from "./signatures/compile-scheme.ts";
import type { SchemeContext, SchemeVerifier } from "./verifier.ts";
import { compileMaskSecrets, type MaskSecrets } from "./mask-secrets.ts";

/** A path whose sender proves who it is in a way of its own, and never by the hook token. */
export interface SenderRoute {
  /** Below the prefix, as mappings match it. */
  readonly path: string;
  /** The sender of its first mapping, for the log. */
  readonly sender: string | undefined;
  readonly auth: AuthConfig;
  readonly verifier: SchemeVerifier;
  readonly handshakes: CompiledHandshakes;
  /** True when its secret is missing, so that nothing can be verified: its calls are answered 503. */
  readonly isBroken: boolean;
  /** Takes its secrets out of a body that was verified. */
  readonly maskSecrets: MaskSecrets;
  /** Methods that carry events. */
  readonly eventMethods: ReadonlySet<string>;
  /** Every method that is answered, for the `Allow` header too. */
  readonly methods: ReadonlySet<string>;
}

/** A route, and the secret that was the last segment of the path. */
export interface SenderMatch {
  readonly route: SenderRoute;
  readonly pathSecret: string | undefined;
}

export type SenderRouteContext = Omit<SchemeContext, "route">;

/** The routes with an `auth` of their own: one scheme each, found by the path alone, before any byte is read. */
export class SenderRoutes {
  readonly #byPath = new Map<string, SenderRoute>();
  /** Of those whose secret is the last segment: by the path before it. */
  readonly #byParent = new Map<string, SenderRoute>();
  /** Paths of mappings, whatever proves their calls. */
  readonly #paths: ReadonlySet<string | undefined>;

  constructor(mappings: readonly MappingConfig[], context: SenderRouteContext) {
    const byPath = Map.groupBy(mappings, ({ match }) => match.path);
    this.#paths = new Set(byPath.keys());
    for (const [path, all] of byPath) {
      const ofPath = thoseThatDecide(all);
      const auth = ofPath.find((mapping) => mapping.auth !== undefined)?.auth;
      if (path === undefined || auth === undefined) continue;
      (takesPathSecret(auth) ? this.#byParent : this.#byPath).set(path, compileRoute(path, auth, ofPath, context));
    }
  }

  /** The route of a path below the prefix; slashes at its end do not count. */
  find(path: string): SenderMatch | undefined {
    if (this.#byPath.size === 0 && this.#byParent.size === 0) return undefined;
    const trimmed = withoutTrailingSlash(path);
    // The whole path goes first: where a route lies below that of another, its name is no secret of the upper one. The
    // path alone decides, so a call without the secret is the route's too, and the hook token is worth nothing there.
    const route = this.#byPath.get(trimmed) ?? this.#byParent.get(trimmed);
    if (route) return { route, pathSecret: undefined };
    if (this.#byParent.size === 0) return undefined;
    const slash = trimmed.lastIndexOf("/");
    const parent = slash === -1 ? undefined : this.#byParent.get(trimmed.slice(0, slash));
    // Of a preset that is missing it is not known whether its secrets are in the path: it closes no other mapping.
    if (parent === undefined || (parent.isBroken && this.#paths.has(trimmed))) return undefined;
    return { route: parent, pathSecret: trimmed.slice(slash + 1) };
  }

  /** Headers and query parameters that carry secrets in one of the routes, lower case. */
  credentialNames(kind: "header" | "query"): string[] {
    const names = new Set<string>();
    for (const { auth } of [...this.#byPath.values(), ...this.#byParent.values()]) {
      if (auth.scheme !== "secret" && auth.scheme !== "jwt") continue;
      for (const source of auth.from) {
        if (source.startsWith(`${kind}:`)) names.add(source.slice(kind.length + 1).toLowerCase());
      }
    }
    return [...names];
  }
}

/** Verifies nothing: the calls of a route that is set aside are refused before. */
const UNVERIFIABLE: SchemeVerifier = { verify: () => ({ ok: false, reason: "the secret is missing" }) };

function compileRoute(
  path: string,
  auth: AuthConfig,
  mappings: readonly MappingConfig[],
  context: SenderRouteContext,
): SenderRoute {
  const [{ where, sender, settings }] = mappings as readonly [MappingConfig, ...MappingConfig[]];
  const differing = mappings.find((other) => !isDeepStrictEqual(other.auth, auth));
  if (differing) throw new ConfigError([{ path: `${differing.where}.auth`, message: `differs from that of ${where}` }]);
  const isBroken = lacksSecret(auth) && mappings.some(({ broken }) => broken !== undefined);
  const verifier = isBroken
    ? UNVERIFIABLE
    : asConfigError(`${where}.auth`, () => compileScheme(auth, { route: path, ...context }));
  const handshakes = asConfigError(`${where}.handshakes`, () =>
    compileHandshakes(isBroken ? [] : handshakesOf(mappings), {
      route: path,
      secrets: "secrets" in auth ? auth.secrets : [],
      settings,
      ...context,
    }),
  );
  // The digest of a body, or a form, has the form of a token as well; a JSON object never has.
  if (handshakes.signsTokens && auth.scheme === "signature" && !auth.content.includes("{body}")) {
    const message = "must hold {body}, because a handshake of the path signs texts for every caller";
    throw new ConfigError([{ path: `${where}.auth.content`, message }]);
  }
  const eventMethods = new Set(["POST", ...mappings.flatMap(({ methods }) => methods)]);
  const methods = new Set([...eventMethods, ...handshakes.methods]);
  return {
    path,
    sender,
    isBroken,
    auth,
    verifier,
    handshakes,
    maskSecrets: compileMaskSecrets(auth),
    eventMethods,
    methods,
  };
}

/** A mapping that is set aside has no say in how the calls of its path are verified while another one works. */
function thoseThatDecide(ofPath: readonly MappingConfig[]): readonly MappingConfig[] {
  const working = ofPath.filter(({ broken }) => broken === undefined);
  return working.length > 0 ? working : ofPath;
}

/** True when nothing can be verified; a key that a handshake delivers comes later. */
function lacksSecret(auth: AuthConfig): boolean {
  return "secrets" in auth && auth.secrets.length === 0 && !("deliveredKey" in auth && auth.deliveredKey);
}

/** Those of all mappings of a path, each once: a sender asks the path, whichever mapping takes its events. */
function handshakesOf(mappings: readonly MappingConfig[]): readonly Handshake[] {
  const united: Handshake[] = [];
  for (const handshake of mappings.flatMap(({ handshakes }) => handshakes)) {
    if (!united.some((known) => isDeepStrictEqual(known, handshake))) united.push(handshake);
  }
  return united;
}

/** Data that no schema could judge is refused with its place. */
function asConfigError<Result>(path: string, compile: () => Result): Result {
  try {
    return compile();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ConfigError([{ path, message: error.message }]);
  }
}

function takesPathSecret(auth: AuthConfig): boolean {
  return auth.scheme === "secret" && auth.from.includes("path");
}

function withoutTrailingSlash(path: string): string {
  let end = path.length;
  while (end > 0 && path.charCodeAt(end - 1) === 0x2f) end--;
  return end === path.length ? path : path.slice(0, end);
}
