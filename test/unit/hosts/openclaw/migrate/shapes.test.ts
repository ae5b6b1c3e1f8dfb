import { describe, expect, it } from "vitest";
import { redactedBlocks } from "../../../../../src/hosts/openclaw/migrate/config.ts";
import { adopted, blockOf, readShape, SHAPES, told } from "./recorded-shapes.ts";
import { SHAPES_BY_THEME } from "./shapes-by-theme.ts";
import { SHAPES_BY_VERSION } from "./shapes-by-version.ts";

const ALWAYS_WRITTEN = [
  "plugins.entries.reveille.config: holds the block, as OpenClaw's built-in hooks had it.",
  "hooks.enabled: is false now; the rest of the block stays, so that going back takes two keys in one edit.",
];
const EXPECTED = { ...SHAPES_BY_VERSION, ...SHAPES_BY_THEME };

const UNADOPTED: Readonly<Record<string, string>> = {
  "internal-hooks-alone":
    "OpenClaw's built-in webhooks are off (hooks.enabled is not true), so there is nothing to adopt. hooks.internal is another system and stays as it is. To begin without them, see docs/operate/openclaw.md.",
  "turned-off":
    "OpenClaw's built-in webhooks are off (hooks.enabled is not true), so there is nothing to adopt. To begin without them, see docs/operate/openclaw.md.",
  "refused-block-in-another-file":
    "hooks takes in another file by $include, which is not edited here. Write the hooks block into the configuration itself and take the $include away, then adopt again; the other file may keep the other sections.",
  "refused-token-of-the-gateway":
    "hooks.token: is also a secret of the gateway itself; give the hooks a token of their own",
  "refused-path-of-slashes": 'hooks.path: must not be "/"; write for example "/hooks"',
  "refused-short-token-on-the-network":
    "hooks.token: has fewer than 24 characters, and more than this machine reaches the gateway; make a longer one with: openssl rand -hex 24",
  "refused-plugins-off":
    "plugins.enabled is false: OpenClaw loads no plugin, so calls would get no answer. Set it to true, then adopt again.",
  "refused-unknown-keys": [
    'hooks.tokens: unknown key; did you mean "token"?',
    'hooks.mappings[0].mesageTemplate: unknown key; did you mean "messageTemplate"?',
    'hooks.mappings[0].wakeMode: "soon" is not one of now, next-heartbeat',
  ].join("\n"),
};

describe("recorded configurations of OpenClaw", () => {
  it("are all judged here", () => {
    expect([...Object.keys(EXPECTED), ...Object.keys(UNADOPTED)].toSorted()).toEqual([...SHAPES].toSorted());
  });

  it.each(Object.entries(EXPECTED))("%s is adopted, and the report names what changes", (name, expected) => {
    const adoption = adopted(readShape(name));
    const { block, written = [], lost = [], behavior = [] } = expected;
    expect(blockOf(adoption)).toEqual({ enabled: true, path: "/hooks", tokenHeader: "X-OpenClaw-Token", ...block });
    const [first = "", second = ""] = ALWAYS_WRITTEN;
    const inOrder = (line: string): boolean => line !== first && line !== second;
    expect(told(adoption, "written").filter(inOrder)).toEqual(written);
    expect(told(adoption, "written")).toEqual(expect.arrayContaining(ALWAYS_WRITTEN));
    expect(told(adoption, "lost")).toEqual(lost);
    expect(told(adoption, "behavior").filter((line) => line.startsWith("hooks."))).toEqual(behavior);
  });

  it.each(Object.keys(EXPECTED))("%s keeps everything but hooks.enabled and our entry", (name) => {
    const before = readShape(name) as { hooks: object; plugins?: { entries?: { reveille?: object } } };
    const adoption = adopted(before);
    if (adoption.outcome !== "adopted") throw new Error("It was not adopted.");
    const after = adoption.config as typeof before & { plugins: { entries: Record<string, object>; allow?: unknown } };
    expect(after.hooks).toEqual({ ...before.hooks, enabled: false });
    const { plugins: _, hooks: __, ...rest } = after;
    const { plugins: ___, hooks: ____, ...restBefore } = before;
    expect(rest).toEqual(restBefore);
    const { reveille, ...others } = after.plugins.entries;
    const { reveille: own = {}, ...othersBefore } = before.plugins?.entries ?? {};
    expect(others).toEqual(othersBefore);
    expect(reveille).toMatchObject({ ...own, enabled: true });
  });

  it.each(Object.keys(EXPECTED))("%s has nothing left to adopt afterwards", (name) => {
    const adoption = adopted(readShape(name));
    if (adoption.outcome !== "adopted") throw new Error("It was not adopted.");
    expect(adopted(adoption.config)).toEqual({
      outcome: "nothing",
      reason: "Already adopted: plugins.entries.reveille.config is written, and OpenClaw's built-in hooks are off.",
    });
  });

  it.each(Object.entries(UNADOPTED))("%s is not adopted, and the report gives the reason", (name, reason) => {
    const adoption = adopted(readShape(name));
    if (adoption.outcome === "adopted") throw new Error("It was adopted.");
    expect(adoption.outcome).toBe(name.startsWith("refused-") ? "refused" : "nothing");
    expect(adoption.outcome === "nothing" ? adoption.reason : adoption.reasons.join("\n")).toBe(reason);
  });

  it.each(SHAPES)("%s shows no secret", (name) => {
    const adoption = adopted(readShape(name));
    const shown = JSON.stringify([
      adoption.outcome === "adopted" ? [adoption.notes, redactedBlocks(adoption)] : adoption,
    ]);
    expect(shown).not.toMatch(/recorded-(?:hook-token|push-token|hook-url|token|short)/);
  });
});
