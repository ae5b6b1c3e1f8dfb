import { describe, expect, it } from "vitest";
import { auditHooks } from "../../../src/config/audit.ts";
import type { AuditFinding } from "../../../src/config/audit.ts";
import { context, exposed, GOOD_SECRET, GOOD_TOKEN, presetOf, read } from "./hooks-context.ts";

const safe = { defaultSessionKey: "hook:ingress", allowedAgentIds: ["main"], allowedSessionKeyPrefixes: ["hook:"] };

function audit(block: object, around = context(), written?: unknown): AuditFinding[] {
  return auditHooks(read(block, around).config, around.gateway, written);
}

const brief = (findings: readonly AuditFinding[]): string[] => findings.map(({ id, severity }) => `${severity} ${id}`);

describe("auditHooks", () => {
  it("finds nothing in a careful configuration", () => {
    expect(audit(safe, exposed())).toEqual([]);
  });

  it("says nothing of hooks that are off", () => {
    expect(audit({ enabled: false, allowRequestSessionKey: true }, exposed())).toEqual([]);
  });

  it("warns of a short token", () => {
    expect(audit({ ...safe, token: ["short-but-nice", GOOD_TOKEN] })).toEqual([
      {
        id: "hooks.token_too_short",
        severity: "warning",
        path: "hooks.token",
        message: "has fewer than 24 characters; make a longer one with: openssl rand -hex 24",
      },
    ]);
    expect(audit({ ...safe, token: "k".repeat(24) })).toEqual([]);
  });

  it("finds agents that a payload could persuade to do everything", () => {
    const unrestrictedAgents = ["agents.list[1].permissions"];
    const gateway = { secrets: [], trustedProxies: [], unrestrictedAgents };
    expect(audit(safe, context({ gateway: { ...gateway, loopbackOnly: true } }))).toEqual([
      expect.objectContaining({ id: "hooks.unrestricted_agent", severity: "warning", path: unrestrictedAgents[0] }),
    ]);
    expect(brief(audit(safe, context({ gateway: { ...gateway, loopbackOnly: false } })))).toEqual([
      "critical hooks.unrestricted_agent",
    ]);
  });

  it("warns of a missing default session key, beyond loopback too", () => {
    const { defaultSessionKey: _, ...block } = safe;
    const found = {
      id: "hooks.default_session_key_unset",
      severity: "warning",
      path: "hooks.defaultSessionKey",
      message: 'is not set: every run gets a session of its own; set it, for example to "hook:ingress"',
    };
    expect(audit(block)).toEqual([found]);
    expect(audit(block, exposed())).toEqual([found]);
  });

  it("warns of unrestricted agents, and calls it critical beyond loopback", () => {
    const found = {
      id: "hooks.allowed_agent_ids_unrestricted",
      severity: "warning",
      path: "hooks.allowedAgentIds",
      message:
        "lets callers choose any agent; list the agents that hooks may use, or write [] for the default one only",
    };
    expect(audit({ ...safe, allowedAgentIds: ["*"] })).toEqual([found]);
    expect(audit({ ...safe, allowedAgentIds: undefined }, exposed())).toEqual([{ ...found, severity: "critical" }]);
  });

  it("warns of session keys from callers, and of their having no bounds", () => {
    expect(audit({ ...safe, allowRequestSessionKey: true })).toEqual([
      {
        id: "hooks.request_session_key_enabled",
        severity: "warning",
        path: "hooks.allowRequestSessionKey",
        message: "is true: callers choose the session of a run; leave it out unless you need it",
      },
    ]);
    const block = { ...safe, allowRequestSessionKey: true, allowedSessionKeyPrefixes: [] };
    expect(audit(block).at(-1)).toEqual({
      id: "hooks.request_session_key_prefixes_missing",
      severity: "warning",
      path: "hooks.allowedSessionKeyPrefixes",
      message: 'is not set while callers may choose the session; set it, for example to ["hook:"]',
    });
    expect(brief(audit(block, exposed()))).toEqual([
      "critical hooks.request_session_key_enabled",
      "critical hooks.request_session_key_prefixes_missing",
    ]);
    expect(audit({ ...safe, allowedSessionKeyPrefixes: [] })).toEqual([]);
  });

  it("names every flag that turns the boundary off", () => {
    const mappings = [
      { messageTemplate: "m", match: { path: "a" } },
      { messageTemplate: "m", match: { path: "b" }, allowUnsafeExternalContent: true },
    ];
    const found = audit({ ...safe, mappings, gmail: { allowUnsafeExternalContent: true } });
    expect(found.map(({ path }) => path)).toEqual([
      "hooks.mappings[1].allowUnsafeExternalContent",
      "hooks.gmail.allowUnsafeExternalContent",
    ]);
    expect(brief(found)).toEqual(["warning hooks.unsafe_external_content", "warning hooks.unsafe_external_content"]);
  });

  it.each([{ token: GOOD_TOKEN }, { token: [{ env: "A" }, GOOD_TOKEN] }])(
    "reports a token that is written in the file: %j",
    (written) => {
      expect(audit(safe, context(), written)).toEqual([
        {
          id: "config.secrets.hooks_token_in_config",
          severity: "info",
          path: "hooks.token",
          message: 'is written in the configuration file; write { "env": "NAME" } or { "file": "path" } instead',
        },
      ]);
    },
  );

  it.each([undefined, null, "x", {}, { token: { env: "A" } }, { token: "${HOOKS_TOKEN}" }, { token: [{ file: "x" }] }])(
    "says nothing of where the token stands when the file holds %j",
    (written) => {
      expect(audit(safe, context(), written)).toEqual([]);
    },
  );

  describe("of senders", () => {
    const mapped = (mapping: object): object => ({
      ...safe,
      mappings: [{ match: { path: "a" }, messageTemplate: "m", ...mapping }],
    });
    const signed = { from: "header:x-signature", secret: GOOD_SECRET };

    it("finds nothing in one that signs", () => {
      const block = { ...mapped({ auth: signed }), presets: ["github"], github: { secret: GOOD_SECRET } };
      expect(audit(block, exposed())).toEqual([]);
      expect(audit(mapped({ auth: { ...signed, replaySeconds: 60 } }), exposed())).toEqual([]);
    });

    it.each([
      [
        { scheme: "secret", secret: GOOD_SECRET },
        "is a secret that every request carries: anyone who sees one request can make others; let the sender sign where it can",
      ],
      [
        { scheme: "basic", username: "me", secret: GOOD_SECRET },
        "is a secret that every request carries: anyone who sees one request can make others; let the sender sign where it can",
      ],
      [
        { ...signed, content: "{body:token}" },
        "does not sign the body: anyone who sees one request can change what it says",
      ],
    ])("reports %j beyond loopback, which is weaker than a signature", (auth, message) => {
      expect(audit(mapped({ auth }), exposed())).toEqual([
        { id: "hooks.auth_weaker_than_signature", severity: "info", path: "hooks.mappings[0].auth", message },
      ]);
      expect(audit(mapped({ auth }))).toEqual([]);
    });

    it.each(["{form}", "{sns}", "{crc32}", "{sha256}", "v0:{body}"])("takes %s for the body", (content) => {
      expect(audit(mapped({ auth: { ...signed, content } }), exposed())).toEqual([]);
    });

    it("takes a signed digest for the body", () => {
      const bodyDigest = { from: "query:bodySHA256", algorithm: "sha256", encoding: "hex" };
      const auth = { ...signed, content: "{url}", bodyDigest };
      expect(audit({ ...mapped({ auth }), publicUrl: "https://example.com" }, exposed())).toEqual([]);
    });

    it("warns where a second copy of a request would run again", () => {
      expect(audit(mapped({ auth: { ...signed, replaySeconds: 0 } }))).toEqual([
        {
          id: "hooks.replay_unguarded",
          severity: "warning",
          path: "hooks.mappings[0].auth.replaySeconds",
          message:
            "is 0: anyone who sees one request can send it again; leave it out unless the sender repeats requests on purpose",
        },
      ]);
    });

    it("leaves it to a preset to say that its sender repeats itself, and warns where the owner says it", () => {
      const auth = { scheme: "signature", from: "header:x-signature", replaySeconds: 0 } as const;
      const preset = presetOf({ name: "files", title: "Files", auth, secret: { label: "Secret", madeBy: "owner" } });
      const around = context({ presets: new Map([["files", preset]]) });
      const found = (block: object) => brief(audit({ ...safe, ...block }, around, block));
      const secret = GOOD_SECRET;
      expect(found({ presets: ["files"], files: { secret } })).toEqual([]);
      expect(found({ senders: { a: { preset: "files", secret } } })).toEqual([]);
      const own = { secret, auth: { replaySeconds: 0 } };
      expect(found({ presets: ["files"], files: own })).toEqual(["warning hooks.replay_unguarded"]);
      expect(found({ senders: { a: { preset: "files", ...own } } })).toEqual(["warning hooks.replay_unguarded"]);
      expect(found({ mappings: [{ preset: "files", ...own }] })).toEqual(["warning hooks.replay_unguarded"]);
    });

    it("warns where the agent could wake itself", () => {
      const block = (github: object): object => ({
        ...safe,
        presets: ["github"],
        github: { secret: GOOD_SECRET, ...github },
      });
      expect(audit(block({ ignoreBots: false }))).toEqual([
        {
          id: "hooks.bots_not_ignored",
          severity: "warning",
          path: "hooks.github.ignoreBots",
          message:
            "is false and ignoreActors is empty: what the agent does at the sender can wake it again; name the agent's own account in ignoreActors",
        },
      ]);
      expect(audit(block({ ignoreBots: false, ignoreActors: ["me"] }))).toEqual([]);
    });

    it("warns once of a sender whose events reach the agent without the boundary", () => {
      const found = {
        id: "hooks.unsafe_external_content",
        severity: "warning",
        path: "hooks.gmail.allowUnsafeExternalContent",
        message:
          "is true: anyone who can make the sender send an event speaks to the agent without the boundary; set it only if that is you alone",
      };
      const gmail = { allowUnsafeExternalContent: true };
      expect(audit({ ...safe, gmail, presets: ["gmail"] })).toEqual([found]);
      const mappings = [{ preset: "github", secret: GOOD_SECRET, allowUnsafeExternalContent: true }];
      expect(audit({ ...safe, mappings })).toEqual([
        { ...found, path: "hooks.mappings[0].allowUnsafeExternalContent" },
      ]);
    });
  });
});
