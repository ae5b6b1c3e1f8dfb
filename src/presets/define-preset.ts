import { compileSource } from "../auth/value-source.ts";
import type { AuthInput } from "../config/auth/schema.ts";
import { ConfigError } from "../config/errors.ts";
import { showKeyPath } from "../config/show-value.ts";
import type { TextKind } from "../core/boundary/remove-hidden.ts";
import { type Level, LEVELS } from "../core/delivery.ts";
import { reasonLine } from "../core/reason-of.ts";
import type { Handshake } from "../config/handshake.ts";
import type { SettingsSchema, PresetMapping, PresetSecret, PresetSettings } from "../config/preset.ts";
import type {
  ChatMessage,
  EventActor,
  EventAuthor,
  Preset,
  PresetAnswer,
  PresetContext,
  PresetEvent,
  PresetObjects,
  PresetSample,
  SenderSuccess,
} from "./preset.ts";

/** A preset as its author writes it. */
export interface PresetDefinition {
  /** Lower case, digits and `-`: `github`; also the default path below `hooks.path` and the key of its settings. */
  readonly name: string;
  /** `GitHub`. */
  readonly title: string;
  /** The sender's own page about its webhooks. */
  readonly documentation: string;
  /** The sender's authentication, without `secret`; a function when it depends on settings. */
  readonly auth: AuthInput | ((settings: PresetSettings) => AuthInput);
  /** Absent: none, `auth` does without. */
  readonly secret?: Partial<PresetSecret> & Pick<PresetSecret, "label" | "madeBy">;
  /** A typebox or `@sinclair/typebox` object schema of further keys of `hooks.<name>`. */
  readonly settings?: SettingsSchema;
  readonly secretSettings?: readonly string[];
  readonly handshakes?: readonly Handshake[];
  readonly methods?: readonly string[];
  /** A source (`header:x-github-event`), several whose values are joined with `.`, or a function. */
  readonly event?: string | readonly string[] | ((context: PresetContext) => string | undefined);
  /** In words, when `event` is a function. */
  readonly eventWhere?: string;
  /**
   * Source of the id that stays the same when the sender tries again; `signed`: the signature covers it. Of several
   * sources all must have a value: without one of them two events could have the same id.
   */
  readonly deliveryId?: {
    readonly from: string | readonly string[] | ((context: PresetContext) => string | undefined);
    readonly signed: boolean;
    /** In words, when `from` is a function. */
    readonly where?: string;
  };
  readonly sender?: (context: PresetContext) => EventActor | undefined;
  /** Those whose text the event carries, besides the actor: their level counts as well. */
  readonly authors?: (context: PresetContext) => readonly EventAuthor[];
  /**
   * True when the actor's id is one that the sender gives its accounts, so that no one can choose it: then `actors` of a
   * mapping can list it. False for names and addresses, which anyone can claim.
   */
  readonly vouchesForActors?: boolean;
  /** Levels of the roles that `sender` returns, where a mapping does not say: `{ MEMBER: "trusted" }`. */
  readonly roles?: Readonly<Record<string, Level>>;
  /**
   * What its texts are, and so what of them no one sees: `markdown` has comments, `plain` shows all but characters.
   * Absent: `html`, which has comments and hidden elements.
   */
  readonly text?: TextKind;
  /**
   * What the actor wrote in this event, without what the event only shows along with it: there, and nowhere else, a mark
   * of the gateway counts. Absent: anywhere in the body.
   */
  readonly written?: (event: PresetContext) => string | undefined;
  /** What an event is about, so that another event, such as a label, can approve it while it is held. */
  readonly objects?: PresetObjects;
  readonly unwrap?: (payload: unknown) => unknown;
  readonly skip?: (event: PresetEvent) => string | undefined;
  /** Absent: `mapping` has a `messageTemplate`. */
  readonly message?: (event: PresetEvent) => string;
  readonly answer?: PresetAnswer | ((event: PresetEvent) => PresetAnswer | undefined);
  /** A person's message to the agent in a private chat, without anything that others wrote; `undefined` for all else. */
  readonly chat?: (event: PresetEvent) => ChatMessage | undefined;
  /** The answer that the sender takes as success, for the page of senders. */
  readonly success?: SenderSuccess;
  /** Events that wake no agent by default: the actors that count as bots, pings and tests; for the page of senders. */
  readonly ignored?: string;
  readonly mapping?: Partial<PresetMapping> | ((settings: PresetSettings) => Partial<PresetMapping>);
  readonly samples: Readonly<Record<string, PresetSample>>;
  readonly setup: readonly string[];
}

/**
 * Makes a preset of what its author wrote: defaults filled in, sources compiled, frozen. Throws a
 * TypeError that names everything that is wrong.
 */
export function definePreset(definition: PresetDefinition): Preset {
  refuseWrong(definition);
  const { name, title, documentation, setup, samples, auth, mapping, event, deliveryId, answer } = definition;
  const preset = Object.freeze<Preset>({
    name,
    title,
    documentation,
    setup,
    samples,
    auth: typeof auth === "function" ? ofSettings(name, "auth", auth) : () => auth,
    secret: definition.secret && {
      required: true,
      minLength: definition.secret.madeBy === "owner" ? 16 : 1,
      known: [],
      ...definition.secret,
    },
    settings: definition.settings,
    secretSettings: definition.secretSettings ?? [],
    handshakes: definition.handshakes ?? [],
    methods: definition.methods ?? [],
    mapping: typeof mapping === "function" ? ofSettings(name, "mapping", mapping) : () => mapping ?? {},
    eventSource: event && (definition.eventWhere ?? describeSource(event)),
    deliveryIdSource: deliveryId && (deliveryId.where ?? describeSource(deliveryId.from)),
    deliveryIdSigned: deliveryId?.signed ?? false,
    eventOf: compileReader(event, { needsAll: false }),
    deliveryIdOf: compileReader(deliveryId?.from, { needsAll: true }),
    senderOf: definition.sender ?? (() => undefined),
    authorsOf: definition.authors ?? (() => []),
    vouchesForActors: definition.vouchesForActors ?? false,
    roles: definition.roles ?? {},
    text: definition.text,
    written: definition.written ?? (() => undefined),
    objects: definition.objects,
    knowsObjects: definition.objects !== undefined,
    unwrap: definition.unwrap ?? ((payload) => payload),
    skip: definition.skip ?? (() => undefined),
    message: definition.message ?? (() => ""),
    hasChat: definition.chat !== undefined,
    chat: definition.chat ?? (() => undefined),
    answer: typeof answer === "function" ? answer : () => answer,
    success: definition.success,
    ignored: definition.ignored,
  });
  made.add(preset);
  return preset;
}

const made = new WeakSet<object>();

/** True for what {@link definePreset} has made. */
export function isPreset(value: object): value is Preset {
  return made.has(value);
}

/** What the author's function makes of settings; one that throws refuses them by their key. */
function ofSettings<Made>(
  name: string,
  what: string,
  make: (settings: PresetSettings) => Made,
): (settings: PresetSettings) => Made {
  return (settings) => {
    try {
      return make(settings);
    } catch (error) {
      const message = `the preset cannot make its ${what} of these settings: ${reasonLine(error)}`;
      throw new ConfigError([{ path: showKeyPath(["hooks", name]), message }]);
    }
  };
}

type Source = PresetDefinition["event"];

function compileReader(
  source: Source,
  { needsAll }: { readonly needsAll: boolean },
): (context: PresetContext) => string | undefined {
  if (source === undefined) return () => undefined;
  if (typeof source === "function") return source;
  const readers = (typeof source === "string" ? [source] : source).map(compileSource);
  return (context) => {
    const parts = readers.map((read) => read(context)).filter((part) => part !== undefined && part.trim() !== "");
    const isEnough = needsAll ? parts.length === readers.length : parts.length > 0;
    return isEnough ? parts.join(".") : undefined;
  };
}

function describeSource(source: Source): string | undefined {
  if (source === undefined) return undefined;
  if (typeof source === "function") return "from the payload";
  return typeof source === "string" ? source : source.join(" + ");
}

const NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;

/** The author may have written it without a compiler, so nothing is sure to be there. */
function refuseWrong(definition: PresetDefinition): void {
  const given = definition as unknown as Readonly<Record<string, unknown>>;
  const { name, title, documentation, auth, setup, samples, event, deliveryId, roles = {} } = given;
  const sources = [event, (deliveryId as { from?: unknown } | undefined)?.from];
  const noFunctions = FUNCTIONS.filter((key) => given[key] !== undefined && typeof given[key] !== "function");
  const noLists = LISTS.filter((key) => given[key] !== undefined && !Array.isArray(given[key]));
  const problems = [
    NAME.test(String(name)) ? "" : "name must be lower case letters, digits and single hyphens",
    typeof title === "string" && title.trim() !== "" ? "" : "title is empty",
    String(documentation).startsWith("https://") ? "" : "documentation must be an https URL",
    typeof auth === "function" || isObject(auth) ? "" : "auth must be an object or a function",
    Array.isArray(setup) && setup.length > 0 ? "" : "setup has no step",
    isObject(samples) && Object.keys(samples).length > 0 ? "" : "samples has no sample",
    sources.every(isSource)
      ? ""
      : "event and deliveryId.from must be header:<name>, query:<name> or body:<path>, a list of those or a function",
    isRoles(roles) ? "" : `roles must name levels: ${LEVELS.join(", ")}`,
    noFunctions.length === 0 ? "" : `${noFunctions.join(", ")} must be functions`,
    noLists.length === 0 ? "" : `${noLists.join(", ")} must be a list`,
  ].filter((problem) => problem !== "");
  if (problems.length > 0) throw new TypeError(`The preset "${String(name)}" cannot be used: ${problems.join("; ")}.`);
}

const FUNCTIONS = ["sender", "authors", "written", "unwrap", "skip", "message", "chat"];
const LISTS = ["handshakes", "methods", "secretSettings"];

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** One that is no level would be held to the rights of none. */
function isRoles(roles: unknown): boolean {
  return isObject(roles) && Object.values(roles).every((level) => (LEVELS as readonly unknown[]).includes(level));
}

/** What {@link compileSource} reads; of all else it finds nothing. */
const SOURCE = /^(?:header|query|body):./su;

function isSource(source: unknown): boolean {
  if (source === undefined || typeof source === "function") return true;
  return [source].flat().every((each) => typeof each === "string" && SOURCE.test(each));
}
