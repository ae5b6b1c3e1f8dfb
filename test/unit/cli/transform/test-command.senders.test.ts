import { describe, expect, it } from "vitest";
import { TransformTerminal } from "./terminal.ts";

const MODULE = `export default ({ actor, payload }) => ({
  message: "by " + actor?.level + ", " + JSON.stringify(payload).length + " characters",
});`;

function terminalWith(mapping: object): TransformTerminal {
  const terminal = new TransformTerminal();
  const whole = { match: { path: "sender" }, transform: { module: "sender.js" }, ...mapping };
  terminal.configure({ mappings: [whole], transforms: { isolation: "none" } });
  terminal.module("sender.js", MODULE);
  return terminal;
}

describe("reveille transform test, with a sender that signs", () => {
  it("gives the actor the level that the gateway gives it, for the transform, the filter and the rights", async () => {
    using terminal = terminalWith({
      preset: "github",
      secret: "the-secret-of-these-tests-at-github",
      actors: { roles: { MEMBER: "trusted" } },
      when: 'actor.level == "trusted"',
      rights: { unknown: { deliver: false }, trusted: {} },
    });
    const ada = { id: 7, login: "ada", type: "User" };
    const issue = { number: 1, title: "t", body: "b", user: ada, author_association: "MEMBER" };
    const opened = { action: "opened", issue, repository: { full_name: "a/b" }, sender: ada };
    const payload = terminal.write("payload.json", JSON.stringify(opened));
    const { code, out } = await terminal.run("transform", "test", "sender.js", "--payload", payload);
    expect(code).toBe(0);
    expect(out).not.toMatch(/^filtered/mu);
    expect(out).toMatch(/^ {2}message +by trusted, /mu);
    expect(out).toMatch(/^ {2}reply to +owner on console/mu);
  });

  it("takes a body as large as the gateway takes of such a sender, and no larger one", async () => {
    using terminal = terminalWith({ preset: "razorpay", secret: "the-secret-of-these-tests-there" });
    const test = async (characters: number): Promise<string> => {
      const payload = terminal.write("payload.json", JSON.stringify({ text: "x".repeat(characters) }));
      return (await terminal.run("transform", "test", "sender.js", "--payload", payload)).out;
    };
    expect(await test(700_000)).toMatch(/^ {2}message +by undefined, 700011 characters$/mu);
    expect(await test(1_100_000)).toContain("The gateway would refuse it with 413 BODY_TOO_LARGE: ");
  });
});
