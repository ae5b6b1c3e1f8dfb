/**
 * The embedded gateway's configuration file as it is written: the only source of its keys, their
 * defaults, bounds and meaning. Names are OpenClaw's wherever it has the thing.
 */
import Type from "typebox";
import type { Static } from "typebox";
import {
  duration,
  flag,
  seconds,
  secrets,
  size,
  STORE_BYTES,
  text,
  whole,
  withDefault,
} from "../../../config/schema-parts.ts";

import { ChannelsSchema } from "./channels.ts";
import { ExposeSchema } from "./expose.ts";
import { McpSchema } from "./mcp.ts";
import { PermissionsSchema } from "../../../config/permissions.ts";
import { ToolsSchema } from "./tools.ts";
import { RuntimeSchema } from "./runtime.ts";
import { TelemetrySchema } from "./telemetry.ts";

const DAY_SECONDS = 86_400;

const strict = <Options extends object>(options: Options) => ({ additionalProperties: false, ...options }) as const;

const GatewaySection = Type.Object(
  {
    port: withDefault(whole({ minimum: 0, maximum: 65_535 }, "Port of the HTTP server; 0: any free one."), 18_789),
    bind: withDefault(
      text({
        description: "Where the server listens: `loopback`, `lan` (every IPv4 interface) or an IP address.",
        title: "loopback, lan or an IP address",
      }),
      "loopback",
    ),
    auth: Type.Optional(
      Type.Object(
        {
          token: Type.Optional(
            secrets(
              "The gateway token, which the API takes as bearer; required. At least 24 characters when the gateway listens on more than loopback.",
            ),
          ),
        },
        strict({ description: "Who may use the gateway's API." }),
      ),
    ),
    mcp: Type.Optional(McpSchema),
    trustedProxies: withDefault(
      Type.Array(text({ description: "An IP address or a CIDR block." }), {
        maxItems: 256,
        description: "Proxies whose `X-Forwarded-For` is believed, from the right. Addresses and CIDR blocks.",
      }),
      [],
    ),
    expose: Type.Optional(ExposeSchema),
    shutdownSeconds: withDefault(
      seconds(
        { minimum: 0, maximum: 3_600 },
        "How long a shutdown waits for runs; the rest stays on disk and runs again.",
      ),
      25,
    ),
  },
  strict({ description: "The HTTP server." }),
);

const ModelChoice = (description: string) =>
  Type.Union(
    [
      Type.String({ minLength: 1, maxLength: 1_024 }),
      Type.Object(
        { primary: text({ description: "The model." }) },
        { additionalProperties: false, title: "{ primary: <provider>/<model> }" },
      ),
    ],
    { title: "<provider>/<model> or { primary: <provider>/<model> }", description },
  );

const AgentDefaults = Type.Object(
  {
    model: Type.Optional(ModelChoice("Model of every agent that names none. Absent: the built-in offline agent.")),
    models: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object(
          {
            alias: Type.Optional(
              text({
                description: "A short name for the model.",
                title: "a name without slashes and spaces",
                pattern: "^[^/\\s]+$",
              }),
            ),
          },
          strict({ description: "One allowed model." }),
        ),
        { description: "Models that runs may use, by `<provider>/<model>`. Absent: no allowlist is enforced." },
      ),
    ),
    heartbeat: Type.Optional(
      Type.Object(
        {
          every: withDefault(
            duration({ minimum: 0, maximum: 7 * DAY_SECONDS }, 'How often the main session has a turn; "0m": never.'),
            "30m",
          ),
        },
        strict({ description: "The periodic turn of the main session." }),
      ),
    ),
    timeoutSeconds: withDefault(
      seconds({ minimum: 0.001, maximum: DAY_SECONDS }, "How long a turn of a session may take."),
      600,
    ),
  },
  strict({ description: "What holds for every agent." }),
);

const Agent = Type.Object(
  {
    id: text({
      description: "Name of the agent; part of its session keys.",
      title: "a name of lower-case letters, digits, - and _",
      maxLength: 64,
      pattern: "^[a-z0-9][a-z0-9_-]*$",
    }),
    default: Type.Optional(flag("Marks the agent that unknown ids fall back to. Absent everywhere: the first one.")),
    model: Type.Optional(ModelChoice("Model of this agent.")),
    systemPrompt: Type.Optional(text({ description: "The system prompt of the agent.", maxLength: 100_000 })),
    thinking: Type.Optional(text({ description: "Thinking level, for example `low`, `medium`, `high`." })),
    runtime: Type.Optional(RuntimeSchema),
    tools: Type.Optional(ToolsSchema),
    waits: withDefault(
      flag(
        "`true`: the agent has the tool `wait_for_event`, by which its session waits for an event, where the permissions allow `reveille.wait_for_event` or what only reads.",
      ),
      false,
    ),
    permissions: withDefault(
      PermissionsSchema(
        "What the agent may do by its tools. `deny`: nothing. `reads`: what is declared to read only. `{ allow }`: what a rule matches. `ask`: each act is a question to you. `all`: everything, which a run of a hook needs `allowUntrusted` for. For a `command` agent, `deny` and `reads` make its working directory read-only, and nothing else but `all` is possible.",
      ),
      "deny",
    ),
    allowUntrusted: withDefault(
      flag(
        "Lets runs of hooks use the permissions `all`. Dangerous: a payload that persuades the agent can do everything.",
      ),
      false,
    ),
    approvalTimeoutSeconds: withDefault(
      seconds(
        { minimum: 1, maximum: DAY_SECONDS },
        "How long a question waits for its answer, after which the act is denied. The wait costs nothing of the run's time.",
      ),
      300,
    ),
    egress: Type.Optional(
      Type.Array(
        text({
          description: "`api.example.com`, `*.example.com`, or one of them with a port: `127.0.0.1:8080`.",
          pattern: "^[^\\s/]+$",
        }),
        {
          maxItems: 200,
          description:
            "Hosts that the agent's confined programs can reach. Absent: the host of the provider of its model, or for a program of `agents.defaults.model`, if there is one.",
        },
      ),
    ),
  },
  strict({ description: "One agent." }),
);

const Provider = Type.Object(
  {
    baseUrl: text({ description: "Base URL of an OpenAI-compatible API, for example `http://127.0.0.1:11434/v1`." }),
    apiKey: Type.Optional(secrets("Sent as bearer.")),
    headers: Type.Optional(
      Type.Record(Type.String(), secrets("Value of the header."), { description: "Further headers of every call." }),
    ),
    api: Type.Optional(
      Type.Enum(["openai-completions"], { description: "The dialect; there is one. Kept for OpenClaw's files." }),
    ),
    models: Type.Optional(
      Type.Array(Type.Object({ id: text({ description: "The provider's name for a model." }) }), {
        description: "OpenClaw's list of the provider's models; without effect here.",
      }),
    ),
  },
  strict({ description: "One provider of models." }),
);

/** The schema of the whole file. */
export const GatewaySchema = Type.Object(
  {
    $schema: Type.Optional(text({ description: "For editors; without effect." })),
    gateway: Type.Optional(GatewaySection),
    agents: Type.Optional(
      Type.Object(
        {
          defaults: Type.Optional(AgentDefaults),
          list: Type.Optional(
            Type.Array(Agent, { maxItems: 1_000, description: "The agents. Absent: one agent named `main`." }),
          ),
        },
        strict({ description: "The agents." }),
      ),
    ),
    models: Type.Optional(
      Type.Object(
        {
          providers: Type.Optional(
            Type.Record(Type.String(), Provider, { description: "Providers by the name that references begin with." }),
          ),
        },
        strict({ description: "Where models are reached." }),
      ),
    ),
    session: Type.Optional(
      Type.Object(
        {
          mainKey: withDefault(
            text({
              description: "Last part of the keys of main sessions, `agent:<id>:<mainKey>`.",
              title: "a name without colons and spaces",
              pattern: "^[^:\\s]+$",
            }),
            "main",
          ),
          isolatedRetention: withDefault(
            duration(
              { minimum: DAY_SECONDS, maximum: 3_650 * DAY_SECONDS },
              "How long the transcripts of isolated runs are kept, at least a day; what a main session itself said stays.",
            ),
            "30d",
          ),
          isolatedMaxBytes: Type.Optional(
            size(
              STORE_BYTES,
              "Bytes of the transcripts of isolated runs above which the oldest are removed before their time: each message counts as its text and 200 bytes. The transcript of a running run stays. Messages of main sessions do not count. Absent: no bound.",
            ),
          ),
        },
        strict({ description: "Sessions." }),
      ),
    ),
    channels: Type.Optional(ChannelsSchema),
    plugins: Type.Optional(
      Type.Object(
        {
          load: Type.Optional(
            Type.Object(
              {
                paths: withDefault(
                  Type.Array(text({ description: "A folder with a `plugin.json`, or that file." }), {
                    maxItems: 100,
                    description: "Plugins to load, relative to the configuration's folder.",
                  }),
                  [],
                ),
              },
              strict({ description: "Where plugins are." }),
            ),
          ),
          entries: Type.Optional(
            Type.Record(
              Type.String(),
              Type.Object(
                {
                  enabled: withDefault(flag("Whether the plugin is loaded."), true),
                  config: Type.Optional(Type.Unknown({ description: "What the plugin's constructor is given." })),
                },
                strict({ description: "One plugin." }),
              ),
              { description: "Settings of plugins by their id." },
            ),
          ),
        },
        strict({ description: "Further plugins of the gateway." }),
      ),
    ),
    telemetry: Type.Optional(TelemetrySchema),
    hooks: Type.Optional(Type.Unknown({ description: "The webhook ingress; its own schema holds its keys." })),
  },
  strict({ description: "The configuration of the embedded gateway." }),
);

/** The file as the schema has it, before defaults and secrets. */
export type GatewayFile = Static<typeof GatewaySchema>;
