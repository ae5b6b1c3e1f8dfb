import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Type from "typebox";
import { describe, expect, it } from "vitest";
import * as sinclair from "../../fixtures/sinclair-typebox.ts";
import type { MappingConfig } from "../../../src/config/mapping/schema.ts";
import type { PresetPart } from "../../../src/config/preset.ts";
import type { HooksContext } from "../../../src/config/read-hooks.ts";
import {
  catalog,
  context,
  GATEWAY_SECRET,
  GOOD_SECRET,
  GOOD_TOKEN,
  PRESETS,
  presetOf,
  read,
  refusalsOf,
  RUN_DEFAULTS,
} from "./hooks-context.ts";

const OTHER_SECRET = `${GOOD_SECRET}-other`;
const github = { secret: GOOD_SECRET };
const meta = { secret: GOOD_SECRET, verifyToken: "verify-token" };

const mappingsOf = (block: object, around?: HooksContext): readonly MappingConfig[] =>
  read(block, around).config.mappings;
const withPreset = (part: PresetPart): HooksContext => context({ presets: new Map([...PRESETS, [part.name, part]]) });
const secretsOf = ({ auth }: MappingConfig): unknown => (auth && "secrets" in auth ? auth.secrets : undefined);
const REQUIRED =
  'is required by the preset github: the "Secret" of the webhook; set it here and in GitHub (reveille presets show github)';

describe("an enabled preset", () => {
  it("brings a mapping of its own; a secret is all there is to write", () => {
    const { config, warnings } = read({ presets: ["github"], github });
    expect(warnings).toEqual([]);
    expect(config.mappings).toEqual([
      {
        id: "github",
        where: "hooks.github",
        match: { path: "github", source: undefined },
        action: "agent",
        wakeMode: "now",
        name: "GitHub",
        agentId: undefined,
        sessionKey: undefined,
        instructions:
          "Report the event of GitHub below in a few sentences: what happened, and what needs to be done about it, if anything.",
        messageTemplate: undefined,
        textTemplate: undefined,
        forEach: undefined,
        deliver: true,
        allowUnsafeExternalContent: false,
        channel: "last",
        to: undefined,
        model: undefined,
        thinking: undefined,
        timeoutSeconds: undefined,
        maxBodyBytes: 26_214_400,
        accept: ["json", "form"],
        interrupted: undefined,
        transform: undefined,
        preset: "github",
        sender: "github",
        settings: {},
        auth: expect.objectContaining({
          scheme: "signature",
          secrets: [GOOD_SECRET],
          from: ["header:x-hub-signature-256"],
          prefix: "sha256=",
        }),
        handshakes: [],
        methods: [],
        ignoreActors: [],
        ignoreBots: true,
        ...RUN_DEFAULTS,
        contentSource: "GitHub",
        ownSessionPrefix: undefined,
      },
    ]);
  });

  it("comes after the own mappings, in the order of hooks.presets", () => {
    const mappings = [{ match: { path: "a" }, messageTemplate: "m" }];
    const names = mappingsOf({ mappings, presets: ["notion", "gmail", "github"], github }).map(({ id }) => id);
    expect(names).toEqual(["mapping-1", "notion", "gmail", "github"]);
  });

  it("gets a prefix where one of the owner's mappings has its name", () => {
    const mappings = ["gmail", "preset-gmail"].map((id) => ({ id, match: { path: id }, messageTemplate: "m" }));
    expect(mappingsOf({ mappings, presets: ["gmail"] }).map(({ id }) => id)).toEqual([
      "gmail",
      "preset-gmail",
      "preset-preset-gmail",
    ]);
  });

  it("takes every key that its block lays over what it says", () => {
    const [mapping] = mappingsOf({
      presets: ["github"],
      github: {
        ...github,
        path: "/in/github/",
        name: " CI ",
        agentId: "Ops",
        sessionKey: "hook:ci",
        messageTemplate: "m",
        wakeMode: "next-heartbeat",
        deliver: false,
        channel: "telegram",
        to: "me",
        model: "fast",
        thinking: "low",
        timeoutSeconds: 5,
        transform: { module: "a.js" },
        maxBodyBytes: "1kb",
        accept: ["json"],
        interrupted: "hold",
        permissions: "deny",
        workspace: { path: "/srv/site" },
        ignoreActors: [" octo-bot ", ""],
        ignoreBots: false,
        handshakes: [{ name: "ping", verified: true, emptyBody: true, reply: { status: 204 } }],
        auth: { prefix: "" },
      },
    });
    expect(mapping).toMatchObject({
      id: "github",
      match: { path: "in/github" },
      name: "CI",
      agentId: "Ops",
      sessionKey: "hook:ci",
      messageTemplate: "m",
      wakeMode: "next-heartbeat",
      deliver: false,
      channel: "telegram",
      to: "me",
      model: "fast",
      thinking: "low",
      timeoutSeconds: 5,
      transform: { module: "a.js", export: undefined },
      maxBodyBytes: 1_024,
      accept: ["json"],
      interrupted: "hold",
      permissions: "deny",
      workspace: { path: "/srv/site" },
      ignoreActors: ["octo-bot"],
      ignoreBots: false,
      handshakes: [{ name: "ping" }],
      auth: { prefix: "", from: ["header:x-hub-signature-256"], secrets: [GOOD_SECRET] },
    });
  });

  it("still reads ignoreActors under its earlier name, and refuses both names together", () => {
    const block = (keys: object) => ({ presets: ["github"], github: { ...github, ...keys } });
    const [mapping] = read(block({ ignoreSenders: [" octo-bot "] })).config.mappings;
    expect(mapping?.ignoreActors).toEqual(["octo-bot"]);
    expect(() => read(block({ ignoreSenders: ["a"], ignoreActors: ["a"] }))).toThrow(
      "hooks.github.ignoreSenders: is the earlier name of ignoreActors; leave it out",
    );
  });

  it("needs no template for either action", () => {
    expect(read({ presets: ["github"], github: { ...github, action: "wake" } }).warnings).toEqual([]);
  });

  it("says with a wake what its template says to an agent", () => {
    const templated = presetOf({
      name: "templated",
      title: "Templated",
      auth: { scheme: "token" },
      mapping: { messageTemplate: "New: {{title}}" },
    });
    const block = { presets: ["templated"], templated: { action: "wake" } };
    expect(read(block, withPreset(templated))).toMatchObject({
      config: { mappings: [{ action: "wake", textTemplate: "New: {{title}}" }] },
      warnings: [],
    });
  });

  it("has its gmail settings in a block of their own", () => {
    const [mapping] = mappingsOf({ presets: ["gmail"], gmail: { model: "fast", maxBytes: 1_000_000 } });
    expect(mapping).toMatchObject({
      where: "hooks.gmail",
      auth: undefined,
      model: "fast",
      settings: { model: "fast", maxBytes: 1_000_000 },
      maxBodyBytes: 33_554_432,
      contentSource: "Email",
      ownSessionPrefix: "hook:gmail:",
    });
  });

  it("is judged by what the gateway has, under the name of its block", () => {
    const around = context({ agents: catalog({ main: ["fast"] }) });
    const block = { presets: ["github"], github: { ...github, model: "slow", channel: "fax", sessionKey: "x:{{a}}" } };
    expect(refusalsOf(block, around)).toEqual([
      'hooks.allowedSessionKeyPrefixes: is required since the sessionKey of hooks.github is a template; set it, for example to ["hook:"]',
      'hooks.github.model: "slow" is not one of the gateway\'s allowed models: fast',
      'hooks.github.channel: "fax" is not a channel of this gateway; known are last, console, telegram',
    ]);
  });

  it("warns of keys of its block that have no effect, and only of those", () => {
    const block = { presets: ["github"], github: { ...github, action: "wake", to: "me", path: "a b" } };
    expect(read(block).warnings).toEqual([
      'hooks.github.path: "a b" can never match: paths are compared as they are sent, with ? and # cut off and the rest percent-encoded',
      "hooks.github.to: has no effect with the action wake",
    ]);
  });

  it("has a path that no built-in endpoint has", () => {
    expect(refusalsOf({ presets: ["github"], github: { ...github, path: "wake" } })).toEqual([
      'hooks.github.path: "wake" is a built-in endpoint, which takes the hook token alone; choose another path for a sender with auth',
    ]);
  });

  it("is left alone while hooks are off", () => {
    const block = { enabled: false, presets: ["github", "meta"], github: { secret: { env: "NOT_SET" } } };
    expect(read(block)).toMatchObject({ config: { mappings: [], presets: ["github", "meta"] }, warnings: [] });
  });
});

describe("the secret of a preset", () => {
  it("is required, and the message says where to get it", () => {
    expect(refusalsOf({ presets: ["github"] })).toEqual([`hooks.github.secret: ${REQUIRED}`]);
    expect(refusalsOf({ presets: ["meta"], meta: { verifyToken: "verify-token" } })).toEqual([
      'hooks.meta.secret: is required by the preset meta: the "App secret" of the webhook; Meta shows it (reveille presets show meta)',
    ]);
  });

  it("may be in auth.secret, but not twice", () => {
    expect(secretsOf(mappingsOf({ presets: ["github"], github: { auth: github } })[0]!)).toEqual([GOOD_SECRET]);
    expect(refusalsOf({ presets: ["github"], github: { ...github, auth: github } })).toEqual([
      "hooks.github.secret: is set twice, here and as auth.secret; remove one of them",
    ]);
  });

  it.each([
    ["github", "short", "has fewer than 16 characters; make a longer one with: openssl rand -hex 24"],
    ["github", "GitHub documentation secret", "is the secret of a published example; use another"],
    ["github", GATEWAY_SECRET, "is also a secret of the gateway itself; give the sender one of its own"],
    ["meta", "b".repeat(31), "has fewer than 32 characters; copy it whole from Meta"],
  ])("of %s cannot be %j", (name, secret, line) => {
    expect(refusalsOf({ presets: [name], [name]: { ...(name === "meta" ? meta : {}), secret } }).at(-1)).toBe(
      `hooks.${name}.secret: ${line}`,
    );
  });

  it("is read once, however many mappings use it", () => {
    const folder = mkdtempSync(join(tmpdir(), "preset-secret-"));
    try {
      writeFileSync(join(folder, "secret"), GOOD_SECRET);
      chmodSync(join(folder, "secret"), 0o644);
      const mappings = ["a", "b"].map((path) => ({ preset: "github", match: { path } }));
      const block = { presets: ["github"], github: { secret: { file: "secret" } }, mappings };
      const { config, warnings } = read(block, context({ configDir: folder }));
      expect(config.mappings.map(secretsOf)).toEqual([[GOOD_SECRET], [GOOD_SECRET], [GOOD_SECRET]]);
      expect(warnings).toEqual(["hooks.github.secret: others than its owner may use the file secret; chmod it to 600"]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("is reported once when it is bad, however many mappings use it", () => {
    const block = { presets: ["github"], mappings: [{ preset: "github" }], github: { secret: "short" } };
    expect(refusalsOf(block)).toHaveLength(1);
    expect(refusalsOf({ ...block, github: { secret: { env: "NOT_SET" } } })).toHaveLength(1);
  });

  it("is not needed where the sender delivers it, and is then no longer awaited when it is given", () => {
    expect(mappingsOf({ presets: ["notion"] })[0]).toMatchObject({
      auth: { secrets: [], deliveredKey: true },
      handshakes: [{ name: "verification token" }],
      methods: ["PUT"],
    });
    expect(mappingsOf({ presets: ["notion"], notion: github })[0]!.auth).toMatchObject({
      secrets: [GOOD_SECRET],
      deliveredKey: false,
    });
    expect(refusalsOf({ presets: ["notion"], notion: { handshakes: [] } })).toEqual([
      'hooks.notion.secret: is required by the preset notion: the "Verification token" of the webhook; Notion shows it (reveille presets show notion)',
    ]);
  });

  it("has no effect on a preset that does without", () => {
    const open = presetOf({ name: "open", title: "Open", auth: { scheme: "token" } });
    expect(refusalsOf({ presets: ["open"], open: github }, withPreset(open))).toEqual([
      "hooks.open.secret: has no effect with the scheme token; leave it out",
    ]);
    const unlabeled = presetOf({ name: "open", title: "Open", auth: { scheme: "secret" } });
    expect(refusalsOf({ presets: ["open"] }, withPreset(unlabeled))).toEqual([
      "hooks.open.secret: is required by the scheme secret: what the sender and this gateway share",
    ]);
  });
});

describe("a mapping with a preset", () => {
  const own = (mapping: object, block: object = { github }): MappingConfig =>
    mappingsOf({ ...block, mappings: [{ preset: "github", ...mapping }] })[0]!;

  it("begins with what the preset says, and the preset's name is its path", () => {
    expect(own({})).toMatchObject({
      id: "mapping-1",
      where: "hooks.mappings[0]",
      match: { path: "github" },
      preset: "github",
      name: "GitHub",
      accept: ["json", "form"],
      maxBodyBytes: 26_214_400,
      contentSource: "GitHub",
      auth: { secrets: [GOOD_SECRET] },
    });
  });

  it("lays its own keys over that", () => {
    const mapping = own({ match: { path: "ci", source: "x" }, name: "CI", accept: ["text"], ignoreActors: ["me"] });
    expect(mapping).toMatchObject({
      match: { path: "ci", source: "x" },
      name: "CI",
      accept: ["text"],
      ignoreActors: ["me"],
    });
  });

  it("has a secret of its own before that of the block", () => {
    expect(secretsOf(own({ secret: OTHER_SECRET }))).toEqual([OTHER_SECRET]);
    expect(secretsOf(own({ auth: { secret: OTHER_SECRET } }, {}))).toEqual([OTHER_SECRET]);
    expect(refusalsOf({ mappings: [{ preset: "github" }] })).toEqual([`hooks.mappings[0].secret: ${REQUIRED}`]);
  });

  it("lays its auth over that of the block, and that over the preset's", () => {
    const block = { github: { ...github, auth: { prefix: "x=", encoding: "base64" } } };
    expect(own({ auth: { encoding: "base64url" } }, block).auth).toMatchObject({
      from: ["header:x-hub-signature-256"],
      prefix: "x=",
      encoding: "base64url",
      secrets: [GOOD_SECRET],
    });
    expect(own({ auth: { scheme: "signature", prefix: "" } }).auth).toMatchObject({
      from: ["header:x-hub-signature-256"],
      prefix: "",
    });
  });

  it("starts over with another scheme", () => {
    expect(own({ auth: { scheme: "token" } }).auth).toBeUndefined();
    expect(own({ auth: { scheme: "secret" } }).auth).toEqual({
      scheme: "secret",
      secrets: [GOOD_SECRET],
      from: ["header:authorization"],
      prefix: "Bearer ",
    });
  });

  it("drops the preset's own session prefix with its session key", () => {
    const mapping = { preset: "gmail", sessionKey: "hook:mail" };
    expect(mappingsOf({ mappings: [mapping] })[0]).toMatchObject({
      sessionKey: "hook:mail",
      ownSessionPrefix: undefined,
    });
    expect(mappingsOf({ mappings: [{ preset: "gmail" }] })[0]).toMatchObject({ ownSessionPrefix: "hook:gmail:" });
    expect(refusalsOf({ mappings: [{ preset: "gmail", sessionKey: "hook:{{a}}" }] })).toHaveLength(1);
  });

  it("takes settings for the gmail preset over those of hooks.gmail", () => {
    const block = {
      gmail: { model: "fast", maxBytes: 5 },
      mappings: [{ preset: "gmail", settings: { thinking: "low" } }],
    };
    expect(mappingsOf(block)[0]).toMatchObject({ model: "fast", thinking: "low", settings: { maxBytes: 5 } });
    expect(refusalsOf({ mappings: [{ preset: "gmail", settings: { modl: "x" } }] })).toEqual([
      'hooks.mappings[0].settings.modl: unknown key; did you mean "model"?',
    ]);
  });

  it("stands beside the mapping of the enabled preset, with the same secret on the same path", () => {
    const block = {
      presets: ["github"],
      github,
      mappings: [{ preset: "github", match: { source: "x" } }, { preset: "github" }],
    };
    const { config, warnings } = read(block);
    expect(config.mappings.map(({ id, match }) => [id, match.path])).toEqual([
      ["mapping-1", "github"],
      ["mapping-2", "github"],
      ["github", "github"],
    ]);
    expect(warnings).toEqual([]);
    const other = { ...block, mappings: [{ preset: "github", secret: OTHER_SECRET }] };
    expect(refusalsOf(other)).toEqual([
      'hooks.github: has the path "github" like hooks.mappings[0], and another auth or secret: give both the same, or another path to one',
    ]);
  });

  it("warns of what it wrote without effect, and not of what the preset says", () => {
    const block = { github, mappings: [{ preset: "github", action: "wake", model: "fast" }] };
    expect(read(block).warnings).toEqual(["hooks.mappings[0].model: has no effect with the action wake"]);
    expect(read({ gmail: { model: "fast" }, mappings: [{ preset: "gmail", action: "wake" }] }).warnings).toEqual([]);
  });

  it.each([
    ["githb", 'is not a preset; did you mean "github"?'],
    ["nothing-like-it", "is not a preset; known are gmail, github, meta, notion"],
  ])("refuses the preset %j, which there is not", (preset, line) => {
    const mappings = [{ preset, settings: { a: 1 }, secret: GOOD_SECRET }];
    expect(refusalsOf({ mappings })).toEqual([`hooks.mappings[0].preset: "${preset}" ${line}`]);
    expect(refusalsOf({ mappings, enabled: false })).toEqual([]);
  });

  it.each([
    ["settings", {}],
    ["ignoreActors", ["me"]],
    ["ignoreBots", false],
  ])("alone has %s", (key, value) => {
    expect(refusalsOf({ mappings: [{ messageTemplate: "m", [key]: value }] })).toEqual([
      `hooks.mappings[0].${key}: has no effect without preset, which knows the sender; leave it out`,
    ]);
  });
});

describe("the settings of a preset", () => {
  it("are read from its block and from a mapping, which comes first", () => {
    const mappings = [{ preset: "meta", match: { path: "old" }, settings: { legacy: true } }];
    const [old, current] = mappingsOf({ presets: ["meta"], meta, mappings });
    expect(current).toMatchObject({
      settings: { verifyToken: "verify-token" },
      auth: { from: ["header:x-hub-signature-256"], algorithm: "hmac-sha256" },
    });
    expect(old).toMatchObject({
      settings: { verifyToken: "verify-token", legacy: true },
      auth: { from: ["header:x-hub-signature"], algorithm: "hmac-sha1" },
    });
  });

  it("may be secrets, from wherever secrets come from", () => {
    const around = context({ env: { TOKEN: " verify-token-of-env " } });
    const block = { presets: ["meta"], meta: { ...meta, verifyToken: { env: "TOKEN" } } };
    expect(mappingsOf(block, around)[0]!.settings).toEqual({ verifyToken: "verify-token-of-env" });
    expect(refusalsOf(block)).toEqual(["hooks.meta.verifyToken: the environment variable TOKEN is not set"]);
  });

  it("are required where they are missed, and completed by a mapping", () => {
    const missing = "is required by the preset meta";
    expect(refusalsOf({ presets: ["meta"] })).toEqual([
      `hooks.meta.verifyToken: ${missing}: The Verify token that you made up.`,
      'hooks.meta.secret: is required by the preset meta: the "App secret" of the webhook; Meta shows it (reveille presets show meta)',
    ]);
    const mapping = { preset: "meta", secret: GOOD_SECRET };
    expect(refusalsOf({ mappings: [mapping] })).toEqual([
      `hooks.mappings[0].settings.verifyToken: ${missing}, here or in hooks.meta: The Verify token that you made up.`,
    ]);
    expect(refusalsOf({ mappings: [{ ...mapping, settings: { verifyToken: "verify-token" } }] })).toEqual([]);
  });

  it.each<[object, string]>([
    [{ verifyToken: "hidden!" }, "verifyToken: the value must not have fewer than 8 characters"],
    [{ verifyToken: 12_345 }, 'verifyToken: the value is not a string, { "env": "NAME" } or { "file": "path" }'],
    [
      { verifyToken: ["verify-token"] },
      'verifyToken: the value is not a string, { "env": "NAME" } or { "file": "path" }',
    ],
    [{ verifyToken: GOOD_TOKEN }, "verifyToken: is also the hook token; give the sender a secret of its own"],
    [{ verifyToken: "changeme" }, "verifyToken: is the secret of a published example; use another"],
    [{ legacy: "yes" }, 'legacy: "yes" is not true or false'],
    [{ legcy: true }, 'legcy: unknown key; did you mean "legacy"?'],
  ])("refuses %j, in the block and in a mapping", (settings, line) => {
    const inBlock = refusalsOf({ presets: ["meta"], meta: { ...meta, ...settings } });
    const inMapping = refusalsOf({ meta, mappings: [{ preset: "meta", settings }] });
    expect(inBlock).toEqual([`hooks.meta.${line}`]);
    expect(inMapping).toEqual([`hooks.mappings[0].settings.${line}`]);
  });

  it("may be declared with the schemas of @sinclair/typebox", () => {
    const settings = sinclair.object(
      { region: sinclair.string({ pattern: "^[a-z]{2}$", title: "a region" }), key: sinclair.string() },
      { additionalProperties: false },
    );
    const part: PresetPart = {
      ...presetOf({ name: "foreign", title: "Foreign", auth: { scheme: "token" } }),
      settings: settings as object as PresetPart["settings"],
      secretSettings: ["key"],
    };
    const around = withPreset(part);
    const foreign = { region: "eu", key: "some-key" };
    expect(mappingsOf({ presets: ["foreign"], foreign }, around)[0]!.settings).toEqual(foreign);
    expect(refusalsOf({ presets: ["foreign"], foreign: { region: "europe" } }, around)).toEqual([
      'hooks.foreign.region: "europe" is not a region',
    ]);
    expect(refusalsOf({ presets: ["foreign"], foreign: { region: "eu" } }, around)).toEqual([
      "hooks.foreign.key: is required by the preset foreign",
    ]);
  });

  it("come before a key of mappings with the same name", () => {
    const part = presetOf({
      name: "named",
      title: "Named",
      auth: { scheme: "token" },
      settings: Type.Object({ name: Type.String(), path: Type.String() }),
    });
    const [mapping] = mappingsOf({ presets: ["named"], named: { name: "n", path: "p" } }, withPreset(part));
    expect(mapping).toMatchObject({ settings: { name: "n", path: "p" }, name: "Named", match: { path: "named" } });
  });
});

describe("hooks.<preset>", () => {
  it.each([
    [{ githb: github }, 'hooks.githb: unknown key; did you mean "github"?'],
    [{ github: { secrt: "x" } }, 'hooks.github.secrt: unknown key; did you mean "secret"?'],
    [{ github: { forEach: "x" } }, "hooks.github.forEach: unknown key"],
    [{ github: "x" }, 'hooks.github: "x" is not an object of settings'],
    [{ github: { secret: 12_345 } }, "hooks.github.secret: the value is not a string"],
    [{ github: { ...github, auth: { frm: "x" } } }, 'hooks.github.auth.frm: unknown key; did you mean "from"?'],
  ])("refuses %j, and then says no more about the preset", (block, line) => {
    const lines = refusalsOf({ ...block, presets: "githb" in block ? [] : ["github"], mappings: [] });
    expect(lines).toHaveLength(1);
    expect(lines[0]!.startsWith(line)).toBe(true);
  });

  it("says nothing of mappings whose preset's block is wrong", () => {
    expect(refusalsOf({ github: { secrt: "x" }, mappings: [{ preset: "github" }] })).toHaveLength(1);
  });

  it("warns of a block that nothing uses", () => {
    const line = 'hooks.github: has no effect: add "github" to hooks.presets, or name it as the preset of a mapping';
    expect(read({ github }).warnings).toEqual([line]);
    expect(read({ github, presets: ["notion"] }).warnings).toEqual([line]);
    expect(read({ github, presets: ["github"] }).warnings).toEqual([]);
    expect(read({ github, mappings: [{ preset: "github" }] }).warnings).toEqual([]);
    expect(read({ github, enabled: false }).warnings).toEqual([]);
    expect(read({ github: undefined, gmail: { account: "me" } }).warnings).toEqual([]);
  });

  it("keeps the meaning of the block's own keys, whatever presets are called", () => {
    const part = presetOf({ name: "internal", title: "Internal", auth: { scheme: "token" } });
    const block = { presets: ["internal"], internal: { entries: {}, name: "not of a mapping" } };
    expect(mappingsOf(block, withPreset(part))[0]).toMatchObject({ id: "internal", name: "Internal" });
  });
});

describe("auth of a preset", () => {
  const timed = presetOf({
    name: "timed",
    title: "Timed",
    auth: {
      scheme: "signature",
      from: "header:x-signature",
      pair: "v1",
      content: "{timestamp}.{body}",
      timestamp: { from: "pair:t", unit: "milliseconds", toleranceSeconds: 300 },
    },
    secret: { label: "Secret", madeBy: "sender" },
  });
  const around = withPreset(timed);

  it("is overridden key by key, one level down too", () => {
    const auth = { timestamp: { toleranceSeconds: 600 } };
    const block = { presets: ["timed"], timed: { secret: GOOD_SECRET, auth } };
    const mapping = { match: { path: "own" }, preset: "timed", auth: { timestamp: { futureSeconds: 5 } } };
    const { config } = read({ ...block, mappings: [mapping] }, around);
    const timestamps = config.mappings.map(({ auth: each }) => each?.scheme === "signature" && each.timestamp);
    const merged = { from: "pair:t", unit: "milliseconds", toleranceSeconds: 600 };
    expect(timestamps).toEqual([
      { ...merged, futureSeconds: 5 },
      { ...merged, futureSeconds: 600 },
    ]);
  });

  it.each([
    [{ timestamp: { toleranceSeconds: 600 } }, ["timestamp.from"]],
    [{ certificate: {}, algorithm: "rsa-sha256", keyEncoding: "pem" }, ["certificate.from", "certificate.hosts"]],
    [{ bodyDigest: { encoding: "base64" } }, ["bodyDigest.from"]],
  ])("needs all of %j where no preset has the rest", (auth, keys) => {
    const mapping = { match: { path: "own" }, messageTemplate: "m", auth: { from: "header:x-signature", ...auth } };
    const secret = "certificate" in auth ? {} : { secret: GOOD_SECRET };
    expect(refusalsOf({ mappings: [{ ...mapping, ...secret }] })).toEqual(
      keys.map((key) => `hooks.mappings[0].auth.${key}: is required`),
    );
  });
});
