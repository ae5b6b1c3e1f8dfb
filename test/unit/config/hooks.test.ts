import { describe, expect, it } from "vitest";
import { HooksSchema } from "../../../src/config/hooks.ts";
import { GOOD_SECRET, refusalsOf } from "./hooks-context.ts";

interface Node {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly anyOf?: readonly Node[];
  readonly items?: Node;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: unknown;
  readonly patternProperties?: Readonly<Record<string, Node>>;
}

/** Every key of the block with its schema, down to the keys of mappings. */
function keysOf(node: Node, path = "hooks"): [string, Node][] {
  return Object.entries(node.properties ?? {}).flatMap(([key, below]) => {
    const here = `${path}.${key}`;
    return [[here, below] as [string, Node], ...keysOf(below.items ?? below, here)];
  });
}

const keys = keysOf(JSON.parse(JSON.stringify(HooksSchema)) as Node);
const mapping = (fields: object): object => ({ mappings: [{ messageTemplate: "m", ...fields }] });

describe("HooksSchema", () => {
  it("spec 2.1: knows every key of the hooks object", () => {
    const names = keys.map(([path]) => path);
    for (const key of [
      "enabled",
      "token",
      "path",
      "allowedAgentIds",
      "defaultSessionKey",
      "allowRequestSessionKey",
      "allowedSessionKeyPrefixes",
      "presets",
      "mappings",
      "transformsDir",
    ]) {
      expect(names).toContain(`hooks.${key}`);
    }
  });

  it("spec 2.1: knows every field of a mapping", () => {
    const names = keys.map(([path]) => path);
    for (const key of [
      "match.source",
      "action",
      "messageTemplate",
      "textTemplate",
      "transform.module",
      "deliver",
      "channel",
      "to",
      "agentId",
      "model",
      "allowUnsafeExternalContent",
    ]) {
      expect(names).toContain(`hooks.mappings.${key}`);
    }
  });

  it.each(keys)("describes %s in a sentence", (_path, node) => {
    expect(node.description).toMatch(/^[A-Z`{].*\.$/);
  });

  /** What somebody else holds to a schema. */
  const open = /^hooks\.(?:internal|mappings\.settings|mappings\.(?:rights\.\w+\.)?extract\.schema)$/u;

  it.each(keys.filter(([path]) => !open.test(path)))("bounds %s", (_path, node) => {
    const branches = node.anyOf ?? [node];
    for (const branch of branches) {
      if (branch.type === "integer" || branch.type === "number") {
        expect(branch.minimum).toBeTypeOf("number");
        expect(branch.maximum).toBeTypeOf("number");
      } else if (branch.type === "array") {
        expect(branch.maxItems).toBeTypeOf("number");
      } else if (branch.type === "object" && branch.patternProperties === undefined) {
        expect(branch.additionalProperties).toBe(false);
      } else if (branch === node && branch.type === "string") {
        expect(branch.maxLength).toBeTypeOf("number");
      }
    }
  });

  it.each(["a", "with space", "a.b", "a[0]", "a[0][1].b-c", "payload.a", "[]", "prototypes", "a.my constructor"])(
    "takes %j as a mapping's forEach",
    (forEach) => {
      expect(refusalsOf(mapping({ forEach }))).toEqual([]);
    },
  );

  it.each([
    ["status", 300, "300 is more than 299"],
    [
      "headers",
      Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`x-${at}`, ""])),
      "an object is not an object of at most 16 headers",
    ],
    ["body", 1, "1 is not a template"],
    ["code", 200, expect.stringContaining("unknown key") as unknown as string],
  ])("refuses a mapping's respond.%s: %j", (key, value, message) => {
    const lines = refusalsOf(mapping({ respond: { [key]: value } }));
    expect(lines).toHaveLength(1);
    expect(lines[0]!.slice(`hooks.mappings[0].respond.${key}: `.length)).toEqual(message);
  });

  it.each(keys.filter(([, node]) => node.default !== undefined))("takes its own default of %s", (path, node) => {
    const [, ...steps] = path.split(".");
    const block = steps.reduceRight<unknown>((value, step) => {
      if (step === "store") return { store: { url: "postgresql://owner@localhost/reveille", ...(value as object) } };
      if (step === "coalesce") return { coalesce: { windowSeconds: 1, ...(value as object) } };
      if (step === "mappings" && steps.length > 1)
        return { mappings: [{ preset: "github", secret: GOOD_SECRET, messageTemplate: "m", ...(value as object) }] };
      return { [step]: value };
    }, node.default);
    expect(refusalsOf(block as object)).toEqual([]);
  });

  it.each([
    ["enabled", "yes", '"yes" is not true or false'],
    ["tokenHeader", "a b", '"a b" is not the name of a header'],
    ["tokenHeader", "", '"" is not the name of a header'],
    ["path", 5, "5 is not a string"],
    ["maxBodyBytes", 0, "0 is less than 1"],
    ["maxBodyBytes", 67_108_865, "67108865 is more than 67108864"],
    ["maxBodyBytes", 1.5, "1.5 is not a whole number"],
    ["maxBodyBytes", "12zz", '"12zz" is not a number of bytes or a size such as "256kb"'],
    ["maxBodyBytes", "-1kb", '"-1kb" is not a number of bytes or a size such as "256kb"'],
    ["maxBodyBytes", true, 'true is not a number of bytes or a size such as "256kb"'],
    ["publicUrl", 5, "5 is not an https URL"],
    ["bodyTimeoutSeconds", 0, "0 is less than 0.1"],
    ["bodyTimeoutSeconds", 601, "601 is more than 600"],
    ["bodyTimeoutSeconds", "30s", '"30s" is not a number of seconds'],
    ["maxDepth", 0, "0 is less than 1"],
    ["maxDepth", 1_025, "1025 is more than 1024"],
    ["maxInFlight", 0, "0 is less than 1"],
    ["maxInFlight", 65_537, "65537 is more than 65536"],
    ["concurrency", 0, "0 is less than 1"],
    ["concurrency", 257, "257 is more than 256"],
    ["maxQueuedRuns", 0, "0 is less than 1"],
    ["maxQueuedRuns", 10_000_001, "10000001 is more than 10000000"],
    ["maxFanOut", 0, "0 is less than 1"],
    ["maxFanOut", 4_097, "4097 is more than 4096"],
    ["idempotencyTtl", 0, "0 is less than 1"],
    ["idempotencyTtl", 31_536_001, "31536001 is more than 31536000"],
    ["idempotencyTtl", "24", '"24" is not a number of seconds or a duration such as "24h"'],
    ["idempotencyTtl", "soon", '"soon" is not a number of seconds or a duration such as "24h"'],
    ["lockout", true, "true is not an object"],
    ["allowedAgentIds", "main", '"main" is not a list of agent ids'],
    ["defaultSessionKey", null, "null is not a string"],
    ["allowRequestSessionKey", 1, "1 is not true or false"],
    ["allowedSessionKeyPrefixes", "hook:", '"hook:" is not a list of prefixes'],
    ["interrupted", "retry", '"retry" is not one of rerun, hold'],
    ["defaultTimeoutSeconds", 0, "0 is less than 0.001"],
    ["defaultTimeoutSeconds", 86_401, "86401 is more than 86400"],
    ["transformsDir", [], "a list is not a string"],
    ["presets", "gmail", '"gmail" is not a list of preset names'],
    ["mappings", {}, "an object is not a list"],
    ["gmail", "x", '"x" is not an object'],
    ["internal", true, "true is not an object"],
    ["path", "/".padEnd(1_025, "x"), "has more than 1024 characters"],
  ])("refuses hooks.%s: %j", (key, value, message) => {
    expect(refusalsOf({ [key]: value })).toEqual([`hooks.${key}: ${message}`]);
  });

  it.each([
    ["id", 5, "5 is not a string"],
    ["match", "github", '"github" is not an object'],
    ["action", "wak", '"wak" is not one of wake, agent'],
    ["wakeMode", "later", '"later" is not one of now, next-heartbeat'],
    ["name", {}, "an object is not a template"],
    ["agentId", 1, "1 is not a string"],
    ["sessionKey", 1, "1 is not a template"],
    ["sessionMode", "shared", '"shared" is not one of isolated, persistent'],
    ["messageTemplate", 1, "1 is not a template"],
    ["textTemplate", 1, "1 is not a template"],
    ...[
      "",
      ".a",
      "a.",
      "a..b",
      "a[]",
      "a[x]",
      "[0]",
      "__proto__",
      "a.constructor",
      "a[0].prototype.b",
      "a\n.__proto__",
    ].map((path): [string, unknown, string] => [
      "forEach",
      path,
      `${JSON.stringify(path)} is not a path in the payload such as "alerts" or "data.items"`,
    ]),
    ["events", [], "is empty"],
    ["events", "push", '"push" is not a list'],
    ["when", " ", '" " is not a condition'],
    ["when", "x".repeat(4_097), "has more than 4096 characters"],
    ["order", "lax", '"lax" is not one of strict, none'],
    ["overlap", "drop", '"drop" is not one of queue, skip, latest'],
    ["maxAgeSeconds", 0, "0 is less than 1"],
    ["priority", "urgent", '"urgent" is not one of high, normal, low'],
    ["concurrency", 257, "257 is more than 256"],
    ["budget", {}, "an object is not an object with perHour, perDay, tokens or cost"],
    ["respond", "results", '"results" is not "result" or an object of settings'],
    ["respond", 5, '5 is not "result" or an object of settings'],
    ["waitSeconds", 301, "301 is more than 300"],
    ["mode", "send", '"send" is not one of run, deliver'],
    ["deliver", "no", '"no" is not true or false'],
    ["allowUnsafeExternalContent", "true", '"true" is not true or false'],
    ["channel", " ", '" " is not the name of a channel'],
    ["to", 49_170, "49170 is not a template"],
    ["model", 1, "1 is not a template"],
    ["thinking", 1, "1 is not a template"],
    ["timeoutSeconds", 0, "0 is less than 0.001"],
    ["timeoutSeconds", 86_401, "86401 is more than 86400"],
    ["timeoutSeconds", "60", '"60" is not a number of seconds'],
    ["transform", "x.js", '"x.js" is not an object'],
    ["maxBodyBytes", "1 zb", '"1 zb" is not a number of bytes or a size such as "256kb"'],
    ["accept", "form", '"form" is not a list'],
    ["interrupted", "drop", '"drop" is not one of rerun, hold'],
    ["preset", 5, "5 is not the name of a preset"],
    ["settings", "x", '"x" is not an object'],
    ["auth", "token", '"token" is not an object'],
    ["secret", 12_345, 'the value is not a string, { "env": "NAME" } or { "file": "path" }, or a list of those'],
    ["handshakes", {}, "an object is not a list"],
    ["methods", "PUT", '"PUT" is not a list'],
    ["ignoreActors", "me", '"me" is not a list of actors'],
    ["ignoreBots", "no", '"no" is not true or false'],
    ["accountId", "x", expect.stringContaining("unknown key") as unknown as string],
  ])("refuses a mapping's %s: %j", (key, value, message) => {
    const lines = refusalsOf(mapping({ [key]: value }));
    expect(lines).toHaveLength(1);
    expect(lines[0]!.startsWith(`hooks.mappings[0].${key}: `)).toBe(true);
    expect(lines[0]!.slice(`hooks.mappings[0].${key}: `.length)).toEqual(message);
  });

  it.each([
    ["toleranceSeconds", 0, "0 is less than 1"],
    ["toleranceSeconds", 604_801, "604801 is more than 604800"],
    ["futureSeconds", -1, "-1 is less than 0"],
    ["unit", "minutes", '"minutes" is not one of seconds, milliseconds, iso8601'],
    ["tolerance", 5, "unknown key; known are from, unit, toleranceSeconds, futureSeconds"],
  ])("refuses a timestamp's %s: %j", (key, value, message) => {
    const auth = { timestamp: { from: "header:x-time", [key]: value } };
    expect(refusalsOf(mapping({ auth }))).toEqual([`hooks.mappings[0].auth.timestamp.${key}: ${message}`]);
  });

  it.each([
    ["failures", 0, "0 is less than 1"],
    ["failures", 100_001, "100001 is more than 100000"],
    ["windowSeconds", 0, "0 is less than 1"],
    ["lockSeconds", 86_401, "86401 is more than 86400"],
    ["maxClients", 0, "0 is less than 1"],
    ["maxClients", 1_000_001, "1000001 is more than 1000000"],
  ])("refuses hooks.lockout.%s: %j", (key, value, message) => {
    expect(refusalsOf({ lockout: { [key]: value } })).toEqual([`hooks.lockout.${key}: ${message}`]);
  });

  it.each([
    [{ maxBytes: 0 }, "hooks.gmail.maxBytes: 0 is less than 1"],
    [{ thinking: "huge" }, 'hooks.gmail.thinking: "huge" is not one of off, minimal, low, medium, high'],
    [{ pushToken: 12 }, "hooks.gmail.pushToken: the value is not a string"],
    [{ hookUrl: 12 }, "hooks.gmail.hookUrl: the value is not a string"],
    [{ serve: { port: 0 } }, "hooks.gmail.serve.port: 0 is less than 1"],
    [{ tailscale: { mode: "on" } }, 'hooks.gmail.tailscale.mode: "on" is not one of off, serve, funnel'],
    [{ acount: "a" }, 'hooks.gmail.acount: unknown key; did you mean "account"?'],
    [{ serve: { prot: 1 } }, 'hooks.gmail.serve.prot: unknown key; did you mean "port"?'],
  ])("refuses hooks.gmail %j", (gmail, line) => {
    expect(refusalsOf({ gmail })).toEqual([line]);
  });

  it.each([
    [{ tokn: "x" }, 'hooks.tokn: unknown key; did you mean "token"?'],
    [{ mapings: [] }, 'hooks.mapings: unknown key; did you mean "mappings"?'],
    [{ TransformsDir: "x" }, 'hooks.TransformsDir: unknown key; did you mean "transformsDir"?'],
    [mapping({ match: { sorce: "x" } }), 'hooks.mappings[0].match.sorce: unknown key; did you mean "source"?'],
    [mapping({ match: { url: "x" } }), "hooks.mappings[0].match.url: unknown key; known are path, source"],
    [
      mapping({ mesageTemplate: "x" }),
      'hooks.mappings[0].mesageTemplate: unknown key; did you mean "messageTemplate"?',
    ],
    [
      mapping({ transform: { module: "a.js", exports: "b" } }),
      'hooks.mappings[0].transform.exports: unknown key; did you mean "export"?',
    ],
  ])("refuses the unknown key in %j", (block, line) => {
    expect(refusalsOf(block)).toEqual([line]);
  });

  it.each(["a.js", "./a/b.ts", "a..b/c.mjs", "...", "deep/er/x.js", "a b.js", "~a".replace("~", "x~")])(
    "spec 4.3: takes the transform module %j",
    (module) => {
      expect(refusalsOf(mapping({ transform: { module } }))).toEqual([]);
    },
  );

  it.each([
    "",
    " ",
    "/abs.js",
    "\\abs.js",
    " /abs.js",
    "~/a.js",
    "C:/a.js",
    "file:a.js",
    "..",
    "../a.js",
    " ../a.js",
    "a/../b.js",
    "a\\..\\b.js",
    "a/..",
    "a/.. /b.js",
    "a\0.js",
    "\u2028/../a.js",
  ])("spec 4.3: rejects the traversal or escape path %j of a transform module", (module) => {
    expect(refusalsOf(mapping({ transform: { module } }))).toEqual([
      `hooks.mappings[0].transform.module: ${JSON.stringify(module)} is not a safe relative path (not absolute, no "~" at its start, no ":" and no ".." segment)`,
    ]);
  });

  it("names each entry of a list that is wrong", () => {
    expect(refusalsOf({ presets: ["gmail", 1], allowedAgentIds: [null] })).toEqual([
      "hooks.allowedAgentIds[0]: null is not a string",
      "hooks.presets[1]: 1 is not a string",
    ]);
    expect(refusalsOf(mapping({ accept: ["json", "xml"] }))).toEqual([
      'hooks.mappings[0].accept[1]: "xml" is not one of json, form, multipart, text',
    ]);
    expect(refusalsOf({ mappings: [5, { transform: {} }] })).toEqual([
      "hooks.mappings[0]: 5 is not an object",
      "hooks.mappings[1].transform.module: is required",
    ]);
  });

  it("leaves hooks.internal as it is written", () => {
    const internal = { enabled: true, entries: { "session-memory": { enabled: false } }, load: { extraDirs: ["/x"] } };
    expect(refusalsOf({ internal })).toEqual([]);
  });
});
