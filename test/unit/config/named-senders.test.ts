import { describe, expect, it } from "vitest";
import { GOOD_SECRET, read, refusals, refusalsOf } from "./hooks-context.ts";

const github = { preset: "github", secret: GOOD_SECRET };

describe("hooks.senders", () => {
  it("makes a mapping of each, with its name as id and path, after those of presets", () => {
    const senders = { "org-one": github, "org-two": { ...github, path: "two", events: ["push"] } };
    const { config } = read({ presets: ["github"], github: { secret: GOOD_SECRET, path: "code" }, senders });
    expect(
      config.mappings.map(({ id, where, sender, preset, match, events }) => [
        id,
        where,
        sender,
        preset,
        match.path,
        events,
      ]),
    ).toEqual([
      ["github", "hooks.github", "github", "github", "code", []],
      ["org-one", "hooks.senders.org-one", "org-one", "github", "org-one", []],
      ["org-two", "hooks.senders.org-two", "org-two", "github", "two", ["push"]],
    ]);
  });

  it("take settings of their preset, and nothing from its block", () => {
    const meta = { preset: "meta", secret: GOOD_SECRET, verifyToken: "verify-token-of-one" };
    const { config, warnings } = read({ senders: { one: meta }, meta: { verifyToken: "verify-token-of-all" } });
    expect(config.mappings[0]!.settings).toEqual({ verifyToken: "verify-token-of-one" });
    expect(warnings).toEqual([
      'hooks.meta: has no effect: add "meta" to hooks.presets, or name it as the preset of a mapping',
    ]);
    const missing = { one: { preset: "meta", secret: GOOD_SECRET } };
    expect(refusalsOf({ senders: missing, meta: { verifyToken: "verify-token-of-all" } })).toEqual([
      "hooks.senders.one.verifyToken: is required by the preset meta: The Verify token that you made up.",
    ]);
  });

  it("serve several mailboxes of the preset gmail", () => {
    const { config } = read({ senders: { sales: { preset: "gmail", path: "mail/sales", thinking: "low" } } });
    expect(config.mappings[0]).toMatchObject({ id: "sales", match: { path: "mail/sales" }, thinking: "low" });
  });

  it.each<[object, string]>([
    [{ a: {} }, "hooks.senders.a.preset: is required"],
    [{ a: { preset: "githb" } }, 'hooks.senders.a.preset: "githb" is not a preset; did you mean "github"?'],
    [{ a: { ...github, secrt: "x" } }, 'hooks.senders.a.secrt: unknown key; did you mean "secret"?'],
    [{ a: { ...github, channel: "irc" } }, "hooks.senders.a.channel: "],
    [{ a: { preset: "github" } }, "hooks.senders.a.secret: is required by the preset github"],
    [{ "A b": github }, 'hooks.senders["A b"]: is not a name of lower-case letters'],
    [{ a: github, b: { ...github, secret: `${GOOD_SECRET}2`, path: "a" } }, "hooks.senders.b: has the path"],
  ])("refuses %j", (senders, line) => {
    const lines = refusalsOf({ senders });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(line);
  });

  it("refuses the name of an enabled preset", () => {
    const block = {
      presets: ["github"],
      github: { secret: GOOD_SECRET },
      senders: { github: { ...github, path: "b" } },
    };
    expect(refusalsOf(block)).toEqual([
      "hooks.senders.github: has the name of a preset in hooks.presets; give one of them another name",
    ]);
  });

  it("report every problem at once, those of other senders too", () => {
    const senders = { a: { preset: "nope" }, b: { ...github, secrt: "x" }, c: { ...github, agentId: "nobody" } };
    expect(refusalsOf({ senders }).map((line) => line.split(":")[0])).toEqual([
      "hooks.senders.b.secrt",
      "hooks.senders.a.preset",
      "hooks.senders.c.agentId",
    ]);
  });

  it("are checked by their schemas while hooks are off", () => {
    expect(refusals({ senders: { a: { ...github, secrt: "x" } } })).toHaveLength(1);
    expect(refusals({ senders: { a: { preset: "of-a-plugin" } } })).toEqual([]);
  });
});
