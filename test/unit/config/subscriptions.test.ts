import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { readHooksConfig } from "../../../src/config/read-hooks.ts";
import { mcpEvents } from "../../../src/presets/senders/mcp-events.ts";
import { context, GOOD_TOKEN, PRESETS, read, refusalsOf } from "./hooks-context.ts";

const secret = `whsec_${randomBytes(32).toString("base64")}`;
const server = { url: "https://mcp.example.com/mcp", token: { env: "MCP_TOKEN" } };
const incidents = { server, event: "incident.created", arguments: { severity: "P1" } };
const sender = { preset: "mcp-events", secret };

const embedded = context({
  gateway: { secrets: [], loopbackOnly: true, trustedProxies: [], holdsSubscriptions: true },
  presets: new Map([...PRESETS, [mcpEvents.name, mcpEvents]]),
  env: { MCP_TOKEN: "the-token-of-the-server" },
});
const refuse = (subscriptions: object, more: object = { senders: { incidents: sender } }): string[] =>
  refusalsOf({ subscriptions, ...more }, embedded);

describe("hooks.subscriptions", () => {
  it("names a server, an event and a mapping, by default the one of its own name", () => {
    const { subscriptions } = read({ subscriptions: { incidents }, senders: { incidents: sender } }, embedded).config;
    const expected = { url: server.url, token: "the-token-of-the-server", event: "incident.created" };
    expect(subscriptions).toEqual([
      { name: "incidents", ...expected, arguments: { severity: "P1" }, mapping: "incidents" },
    ]);
    const mappings = [{ id: "own", match: { path: "own" }, ...sender }];
    const named = read({ subscriptions: { incidents: { ...incidents, mapping: "own" } }, mappings }, embedded).config;
    expect(named.subscriptions[0]).toMatchObject({ name: "incidents", mapping: "own" });
    expect(read({}, embedded).config.subscriptions).toEqual([]);
  });

  it("refuses a mapping that is not there, takes no events, or has a subscription already", () => {
    const key = "hooks.subscriptions.incidents.mapping";
    expect(refuse({ incidents }, {})).toEqual([
      `${key}: "incidents" is no mapping and no named sender; add hooks.senders.incidents with the preset mcp-events`,
    ]);
    expect(refuse({ incidents: { ...incidents, mapping: "incident" } })).toEqual([
      `${key}: "incident" is no mapping and no named sender; with the preset mcp-events there are incidents`,
    ]);
    const other = { mappings: [{ id: "incidents", match: { path: "x" }, messageTemplate: "x" }] };
    expect(refuse({ incidents }, other)).toEqual([
      `${key}: "incidents" does not take events: it needs preset: "mcp-events" and a path of its own`,
    ]);
    expect(
      refuse({ first: { ...incidents, mapping: "incidents" }, second: { ...incidents, mapping: "incidents" } }),
    ).toEqual([
      'hooks.subscriptions.second.mapping: "incidents" is on the path of hooks.subscriptions.first; give each a mapping of its own',
    ]);
  });

  it.each([
    ["ftp://mcp.example.com", 'is not an http or https URL; write for example "https://mcp.example.com/mcp"'],
    ["https://me:secret@mcp.example.com", "holds a user name or password, which requests do not send; use token"],
  ])("refuses the URL %s", (url, problem) => {
    expect(refuse({ incidents: { ...incidents, server: { url } } })).toEqual([
      `hooks.subscriptions.incidents.server.url: ${problem}`,
    ]);
  });

  it("warns of a token over http, but not on this machine", () => {
    const warnings = (url: string) =>
      read(
        { subscriptions: { incidents: { ...incidents, server: { ...server, url } } }, senders: { incidents: sender } },
        embedded,
      ).warnings;
    expect(warnings("http://mcp.example.com/mcp")).toEqual([
      "hooks.subscriptions.incidents.server.url: is not https: anyone on the network can read the token and the events",
    ]);
    expect(warnings("http://127.0.0.1:8080/mcp")).toEqual([]);
  });

  it("refuses what exceeds a limit, and names that are none", () => {
    expect(refuse({ incidents: { ...incidents, arguments: { text: "x".repeat(20_000) } } })).toEqual([
      "hooks.subscriptions.incidents.arguments: has more than 16384 bytes as JSON",
    ]);
    expect(refuse({ "Not a name": { ...incidents, mapping: "incidents" } })).toEqual([
      'hooks.subscriptions["Not a name"]: is not a name of lower-case letters, digits, ".", "_" and "-"',
    ]);
    expect(refuse({ incidents: { ...incidents, server: { ...server, token: "two words" } } })).toEqual([
      "hooks.subscriptions.incidents.server.token: holds characters that no header can have",
    ]);
  });

  it("is refused in a host that subscribes to nothing", () => {
    const elsewhere = { ...embedded, gateway: context().gateway };
    expect(refusalsOf({ subscriptions: { incidents }, senders: { incidents: sender } }, elsewhere)).toEqual([
      "hooks.subscriptions: has no effect in this host: only the embedded gateway subscribes; leave it out",
    ]);
  });

  it("sets aside one whose token is missing, and refuses it where every part must work", () => {
    const block = { enabled: true, token: GOOD_TOKEN, senders: { incidents: sender }, subscriptions: { incidents } };
    const key = "hooks.subscriptions.incidents.server.token: the environment variable MCP_TOKEN is not set";
    const { config, warnings } = readHooksConfig(block, { ...embedded, env: {}, working: new Map() });
    expect(config.subscriptions).toMatchObject([{ token: undefined, broken: key }]);
    expect(warnings).toEqual([`${key}; this subscription is set aside`]);
    expect(
      refusalsOf({ subscriptions: { incidents }, senders: { incidents: sender } }, { ...embedded, env: {} }),
    ).toEqual([key]);
  });
});
