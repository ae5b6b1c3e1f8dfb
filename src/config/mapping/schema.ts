import Type from "typebox";
import type { WakeMode } from "../../core/run.ts";
import { type AuthConfig, AuthSchema } from "../auth/schema.ts";
import { type Handshake, HandshakeSchema } from "../handshake.ts";
import { type ActorsConfig, ActorsSchema, BELOW, type LeastLevel, MIN_LEVEL } from "./actors.ts";
import { type ChatConfig, ChatSchema } from "./chat.ts";
import { MappingTransformSchema } from "../transforms.ts";
import { linkHosts } from "../replies.ts";
import { type RightsConfig, RightsSchema } from "./rights.ts";
import { ACCEPT_ALL_THREE } from "../rule-of-two.ts";
import { RUN_KEYS, type RunConfig } from "../run.ts";
import {
  BODY_BYTES,
  flag,
  RUN_SECONDS,
  seconds,
  secrets,
  size,
  template,
  text,
  texts,
  withDefault,
} from "../schema-parts.ts";

/** Keys between dots, indexes in brackets, and none of the names that could reach a prototype. */
const PAYLOAD_PATH =
  "^(?:\\[\\]|(?!(?:[\\s\\S]*[.\\]])?(?:__proto__|prototype|constructor)(?:[.\\[]|$))[^.\\[\\]]+(?:\\[\\d{1,9}\\])*(?:\\.[^.\\[\\]]+(?:\\[\\d{1,9}\\])*)*)$";
/** Characters of instructions: they are stored with each run. */
export const MAX_INSTRUCTIONS = 8_192;

const MatchSchema = Type.Object(
  {
    path: Type.Optional(
      text({
        description:
          "The path below `hooks.path`, compared as sent and with regard to case; slashes at both ends do not count. Absent or empty: any path.",
      }),
    ),
    source: Type.Optional(
      text({
        description: "Value of the payload's string field `source`. Absent or empty: anything.",
      }),
    ),
  },
  { additionalProperties: false, description: "The requests that the mapping takes. Absent: all of them." },
);

/** One entry of `hooks.mappings` (docs/use/mappings.md). */
export const MappingSchema = Type.Object(
  {
    id: Type.Optional(
      text({ description: "Name of the mapping in lists and logs, unique. Absent: `mapping-<n>`, n from 1." }),
    ),
    match: Type.Optional(MatchSchema),
    action: withDefault(
      Type.Enum(["wake", "agent"], {
        description: "`wake`: a system event for the main session. `agent`: one isolated agent run.",
      }),
      "agent",
    ),
    wakeMode: withDefault(
      Type.Enum(["now", "next-heartbeat"], {
        description: "`now`: a heartbeat follows at once. `next-heartbeat`: the event waits for the next periodic one.",
      }),
      "now",
    ),
    name: Type.Optional(
      text({ description: "Name of the hook in summaries; a template. Absent or blank: `Hook`.", title: "a template" }),
    ),
    agentId: Type.Optional(text({ description: "The agent to use; it must exist. Not a template." })),
    sessionKey: Type.Optional(
      text({
        description:
          "Session of the run or of the wake; a template. A templated key counts as one from the caller: it needs `hooks.allowRequestSessionKey` and `hooks.allowedSessionKeyPrefixes`. Absent: `hooks.defaultSessionKey` for a run, the main session of the agent for a wake.",
        title: "a template",
      }),
    ),
    sessionMode: withDefault(
      Type.Enum(["isolated", "persistent"], {
        description:
          "`isolated`: each run starts with a fresh transcript. `persistent`: a run continues the conversation of its session key, whose earlier prompts and replies the agent sees.",
      }),
      "isolated",
    ),
    instructions: Type.Optional(
      text({
        description:
          "Your own words to the agent, before the boundary and outside of it: what to do with the content. Plain text without placeholders. Absent: those of the preset; empty: none.",
        title: "text without placeholders",
        maxLength: MAX_INSTRUCTIONS,
      }),
    ),
    messageTemplate: template(
      "The prompt of the agent, for the action `agent`; a template. Needed unless a transform supplies it.",
    ),
    textTemplate: template(
      "Text of the system event, for the action `wake`; a template. Needed unless a transform supplies it.",
    ),
    forEach: Type.Optional(
      text({
        description:
          "Path of an array in the payload, as in a template: `alerts`, `data.items`, `groups[0].members`; `[]`, when the payload itself is one. One run for each of its items.",
        title: 'a path in the payload such as "alerts" or "data.items"',
        pattern: PAYLOAD_PATH,
      }),
    ),
    tools: Type.Optional(
      Type.Enum(["none"], {
        description:
          "`none`: the agent runs without any tool, for payloads that strangers write. Absent: with its own.",
      }),
    ),
    deliver: withDefault(flag("Sends the agent's reply to a channel."), true),
    allowUnsafeExternalContent: withDefault(
      flag(
        "Turns the boundary around untrusted content off for this mapping. Dangerous: only for sources whose every word you trust.",
      ),
      false,
    ),
    channel: withDefault(
      text({
        description: "Channel of the reply: `last` or the id of a channel of the gateway. Not a template.",
        title: "the name of a channel",
        pattern: "\\S",
      }),
      "last",
    ),
    to: Type.Optional(
      text({
        description: "Recipient on that channel; a template. Absent: the last recipient of the main session.",
        title: "a template",
      }),
    ),
    chat: Type.Optional(ChatSchema),
    actors: Type.Optional(ActorsSchema),
    rights: Type.Optional(RightsSchema),
    links: Type.Optional(
      linkHosts(
        "Hosts that links and images in what the agent lets out may lead to, besides those of `hooks.replies.links`. Absent: those of the preset.",
      ),
    ),
    minLevel: MIN_LEVEL,
    below: BELOW,
    acceptAllThree: ACCEPT_ALL_THREE,
    model: Type.Optional(
      text({
        description: "Model of the run, `<provider>/<model>` or an alias; a template. Must be an allowed one.",
        title: "a template",
      }),
    ),
    thinking: Type.Optional(
      text({ description: "Thinking level of the run, such as `low`; a template.", title: "a template" }),
    ),
    timeoutSeconds: Type.Optional(
      seconds(RUN_SECONDS, "After that long a run is aborted. Absent: `hooks.defaultTimeoutSeconds`."),
    ),
    transform: Type.Optional(MappingTransformSchema),
    maxBodyBytes: Type.Optional(
      size(
        BODY_BYTES,
        "Largest body, over which the answer is 413. Absent: `hooks.maxBodyBytes`, and 1 MiB at least where a preset's sender signs.",
      ),
    ),
    accept: withDefault(
      Type.Array(Type.Enum(["json", "form", "multipart", "text"]), {
        description:
          "Body types besides JSON: `form` (`application/x-www-form-urlencoded`, becomes an object of strings), `multipart` (`multipart/form-data`, the same; a file becomes `{ filename, type, size }`), `text` (`text/*`, becomes `{ text }`). JSON is always accepted.",
        maxItems: 4,
      }),
      ["json"],
    ),
    interrupted: Type.Optional(
      Type.Enum(["rerun", "hold"], {
        description: "Like `hooks.interrupted`, for this mapping. Absent: as there.",
      }),
    ),
    preset: Type.Optional(
      text({
        description:
          "The preset of the sender: how it signs, and what it sends. The other keys override what it says. `match.path` is its name when absent.",
        title: "the name of a preset",
      }),
    ),
    settings: Type.Optional(
      Type.Object(
        {},
        { description: "Further settings of the preset for this mapping; they override those of `hooks.<preset>`." },
      ),
    ),
    auth: Type.Optional(AuthSchema),
    secret: Type.Optional(secrets("Short for `auth.secret`. Absent, with `preset`: `hooks.<preset>.secret`.")),
    handshakes: Type.Optional(
      Type.Array(HandshakeSchema, {
        maxItems: 32,
        description: "Challenges by which the sender checks the endpoint. Absent: those of the preset.",
      }),
    ),
    methods: Type.Optional(
      Type.Array(Type.Enum(["PUT"]), {
        maxItems: 1,
        description: "Methods besides `POST` that carry events. Absent: those of the preset.",
      }),
    ),
    ignoreActors: Type.Optional(
      texts(1_000, {
        title: "a list of actors",
        description:
          "Actors whose events are filtered, so that the agent does not wake itself by what it does. Case does not count, `*` matches any characters. Needs `preset`.",
      }),
    ),
    ignoreSenders: Type.Optional(
      texts(1_000, { title: "a list of actors", description: "The earlier name of `ignoreActors`." }),
    ),
    ignoreBots: withDefault(flag("Filters events whose actor the sender marks as a bot. Needs `preset`."), true),
    ...RUN_KEYS,
  },
  { additionalProperties: false },
);

/** Further keys of `hooks.<preset>` besides `secret`, `auth` and the mapping's own, by name. */
export type PresetSettings = Readonly<Record<string, unknown>>;

/** One mapping, own or of a preset. */
export interface MappingConfig extends RunConfig {
  readonly id: string;
  /** Its key, for messages: `hooks.mappings[3]`; of an enabled preset, `hooks.gmail`. */
  readonly where: string;
  readonly match: {
    /** Without leading and trailing slashes; `undefined` or empty: any path. */
    readonly path: string | undefined;
    /** `undefined` or empty: any source. */
    readonly source: string | undefined;
  };
  readonly action: "wake" | "agent";
  readonly wakeMode: WakeMode;
  readonly name: string | undefined;
  readonly agentId: string | undefined;
  readonly sessionKey: string | undefined;
  /** The owner's words to the agent, outside the boundary. */
  readonly instructions?: string | undefined;
  readonly messageTemplate: string | undefined;
  readonly textTemplate: string | undefined;
  readonly forEach: string | undefined;
  /** `none`: its runs have no tools. */
  readonly tools?: "none" | undefined;
  /** `persistent`: its runs continue the conversation of their session key. */
  readonly sessionMode?: "persistent" | undefined;
  readonly deliver: boolean;
  readonly allowUnsafeExternalContent: boolean;
  readonly channel: string;
  readonly to: string | undefined;
  /** A private chat of the owner, and nothing else. */
  readonly chat?: ChatConfig | undefined;
  /** Levels of the people behind its events; absent: by the preset's roles alone. */
  readonly actors?: ActorsConfig | undefined;
  /** What a run may do by the level of who acted; absent: the same for everyone. */
  readonly rights?: RightsConfig | undefined;
  /** Hosts that links in what its runs let out may lead to, lower case. */
  readonly links?: readonly string[] | undefined;
  /** Whose events begin a run; absent: everyone's. */
  readonly leastLevel?: LeastLevel | undefined;
  /** Why its runs may have all three of the Rule of Two; absent: none may. */
  readonly acceptAllThree?: string | undefined;
  readonly model: string | undefined;
  readonly thinking: string | undefined;
  readonly timeoutSeconds: number | undefined;
  readonly maxBodyBytes: number | undefined;
  /** Body types besides JSON that the mapping takes. */
  readonly accept: readonly ("json" | "form" | "multipart" | "text")[];
  readonly interrupted: "rerun" | "hold" | undefined;
  readonly transform: { readonly module: string; readonly export: string | undefined } | undefined;
  /** The preset that knows its sender. */
  readonly preset: string | undefined;
  /** The name of its sender: that of the preset, or of an entry of `hooks.senders`. */
  readonly sender?: string | undefined;
  /** The reason why it is set aside: its calls are answered 503. Absent when it works. */
  readonly broken?: string | undefined;
  /** The reason why a reload kept the version of before. Absent: it is as the configuration says. */
  readonly kept?: string | undefined;
  /** The preset's further settings, secrets resolved. */
  readonly settings: PresetSettings;
  /** The authentication of its sender; `undefined`: the hook token. All mappings of a path have the same. */
  readonly auth: AuthConfig | undefined;
  readonly handshakes: readonly Handshake[];
  /** Methods besides `POST` that carry events: `PUT`. */
  readonly methods: readonly string[];
  /** Actors whose events are filtered. Case does not count, `*` matches any characters. */
  readonly ignoreActors: readonly string[];
  /** Filters events whose actor the sender marks as a bot. */
  readonly ignoreBots: boolean;
  /** The source that the boundary names. */
  readonly contentSource: string;
  /**
   * A templated session key under this literal prefix needs no further settings: set by built-in
   * presets, whose keys cannot leave their own name space.
   */
  readonly ownSessionPrefix: string | undefined;
}
