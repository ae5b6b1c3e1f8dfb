/** `hooks.subscriptions`: events of MCP servers that this gateway subscribes to, each for one mapping. */
import Type, { type Static } from "typebox";
import type { ConfigIssue, Findings } from "./errors.ts";
import type { MappingConfig } from "./mapping/schema.ts";
import { secret, text } from "./schema-parts.ts";
import { readSecrets, type SecretSources } from "./secrets.ts";
import { showKeyPath, showNames, showValue } from "./show-value.ts";

/** The preset that verifies and reads the events. */
const EVENTS_PRESET = "mcp-events";

const MAX_SUBSCRIPTIONS = 50;
const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const MAX_ARGUMENT_BYTES = 16_384;

export const SubscriptionsSchema = Type.Record(
  Type.String(),
  Type.Object(
    {
      server: Type.Object(
        {
          url: text({ description: "URL of the MCP server, which speaks streamable HTTP.", maxLength: 2_048 }),
          token: Type.Optional(secret("The bearer token that the server takes. Absent: none is sent.")),
        },
        { additionalProperties: false, description: "The MCP server." },
      ),
      event: text({ description: "Name of the event, as the server lists it.", maxLength: 200 }),
      arguments: Type.Optional(
        Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), {
          maxProperties: 100,
          description: "Arguments of the subscription, by the event's own schema. Absent: none.",
        }),
      ),
      mapping: Type.Optional(
        text({
          description:
            "Id of the mapping or the named sender that takes the events; its preset is `mcp-events`. Absent: the subscription's name.",
          maxLength: 200,
        }),
      ),
    },
    { additionalProperties: false, title: "an object of settings", description: "One subscription." },
  ),
  {
    maxProperties: MAX_SUBSCRIPTIONS,
    title: "an object of subscriptions by their names",
    description:
      "Events of MCP servers, by names of your own: the gateway subscribes to them at its public URL, or polls them where it has none. Each is an ordinary delivery of its mapping.",
  },
);

/** One subscription after validation. */
export interface SubscriptionConfig {
  readonly name: string;
  readonly url: string;
  readonly token: string | undefined;
  readonly event: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The id of a mapping. */
  readonly mapping: string;
  /** The reason why it is set aside: its token is missing. Absent: it works. */
  readonly broken?: string | undefined;
}

export interface SubscriptionContext {
  readonly sources: SecretSources;
  readonly mappings: readonly MappingConfig[];
  /** True in a host that holds subscriptions. */
  readonly isHeld: boolean;
  /** True: one whose token is missing is set aside; otherwise it is refused. */
  readonly setsAside: boolean;
}

/** Reads `hooks.subscriptions`; a token that is missing breaks its subscription alone. */
export function readSubscriptions(
  written: Static<typeof SubscriptionsSchema> | undefined,
  context: SubscriptionContext,
  findings: Findings,
): readonly SubscriptionConfig[] {
  if (written === undefined) return [];
  if (!context.isHeld) {
    findings.refuse(
      "hooks.subscriptions",
      "has no effect in this host: only the embedded gateway subscribes; leave it out",
    );
    return [];
  }
  const pathOwners = new Map<string, string>();
  return Object.entries(written).map(([name, { server, event, arguments: args = {}, mapping = name }]) => {
    const where = showKeyPath(["hooks", "subscriptions", name]);
    if (!NAME.test(name)) {
      findings.refuse(where, 'is not a name of lower-case letters, digits, ".", "_" and "-"');
    }
    checkUrl(server, where, findings);
    if (Buffer.byteLength(JSON.stringify(args)) > MAX_ARGUMENT_BYTES) {
      findings.refuse(`${where}.arguments`, `has more than ${MAX_ARGUMENT_BYTES} bytes as JSON`);
    }
    checkMapping(mapping, where, { ...context, pathOwners }, findings);
    return { name, url: server.url, event, arguments: args, mapping, ...readToken(server, where, context, findings) };
  });
}

type ServerInput = Static<typeof SubscriptionsSchema>[string]["server"];

function checkUrl({ url: written, token }: ServerInput, where: string, findings: Findings): void {
  const url = URL.parse(written);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    findings.refuse(
      `${where}.server.url`,
      'is not an http or https URL; write for example "https://mcp.example.com/mcp"',
    );
  } else if (url.username !== "" || url.password !== "") {
    findings.refuse(`${where}.server.url`, "holds a user name or password, which requests do not send; use token");
  } else if (
    url.protocol === "http:" &&
    token !== undefined &&
    !/^(?:localhost|127\..*|\[::1\])$/u.test(url.hostname)
  ) {
    findings.warn(`${where}.server.url`, "is not https: anyone on the network can read the token and the events");
  }
}

/** An id of an event counts for one server alone, so that two subscriptions cannot share a path. */
function checkMapping(
  id: string,
  where: string,
  { mappings, pathOwners }: Pick<SubscriptionContext, "mappings"> & { readonly pathOwners: Map<string, string> },
  findings: Findings,
): void {
  const key = `${where}.mapping`;
  const mapping = mappings.find((each) => each.id === id);
  if (mapping === undefined) {
    const known = mappings.filter(({ preset }) => preset === EVENTS_PRESET).map((each) => each.id);
    const hint =
      known.length === 0
        ? `add hooks.senders.${id} with the preset ${EVENTS_PRESET}`
        : `with the preset ${EVENTS_PRESET} there are ${showNames(known)}`;
    findings.refuse(key, `${showValue(id)} is no mapping and no named sender; ${hint}`);
    return;
  }
  const { path } = mapping.match;
  if (mapping.preset !== EVENTS_PRESET || path === undefined) {
    findings.refuse(
      key,
      `${showValue(id)} does not take events: it needs preset: "${EVENTS_PRESET}" and a path of its own`,
    );
    return;
  }
  const other = pathOwners.get(path);
  if (other !== undefined)
    findings.refuse(key, `${showValue(id)} is on the path of ${other}; give each a mapping of its own`);
  pathOwners.set(path, where);
}

function readToken(
  { token }: ServerInput,
  where: string,
  { sources, setsAside }: SubscriptionContext,
  findings: Findings,
): Pick<SubscriptionConfig, "token" | "broken"> {
  if (token === undefined) return { token: undefined };
  const key = `${where}.server.token`;
  const before = findings.issues.length;
  const [found] = readSecrets(token, key, sources, findings);
  const problem: ConfigIssue | undefined = findings.issues[before];
  if (found !== undefined && /[^\u0021-\u007e]/u.test(found.value)) {
    findings.refuse(key, "holds characters that no header can have");
  }
  if (problem?.isReference !== true || !setsAside) return { token: found?.value };
  findings.issues.splice(before, 1);
  findings.warn(key, `${problem.message}; this subscription is set aside`);
  return { token: undefined, broken: `${key}: ${problem.message}` };
}
