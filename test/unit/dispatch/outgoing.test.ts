import { describe, expect, it } from "vitest";
import { compileOutgoing } from "../../../src/dispatch/outgoing.ts";
import { GOOD_TOKEN, PRESETS, read } from "../config/hooks-context.ts";

describe("the secrets that no run may let out", () => {
  const hasSecret = (block: object, text: string): boolean =>
    compileOutgoing(read(block).config, { gatewaySecrets: ["of-the-gateway"], presets: PRESETS })(null).hasSecret(text);

  it.each(["of-the-gateway", GOOD_TOKEN])("are those of the gateway and the hooks: %s", (secret) => {
    expect([hasSecret({}, `It is ${secret}.`), hasSecret({}, "It is nothing.")]).toEqual([true, false]);
  });

  it.each([
    ["postgresql://reveille:correct-horse-battery@db.example.com/reveille", "correct-horse-battery"],
    ["postgresql://reveille:correct%2Dhorse%2Dbattery@db.example.com/reveille", "correct-horse-battery"],
    ["postgresql://db.example.com/reveille?user=me&password=correct-horse-battery", "correct-horse-battery"],
    ["postgresql://reveille:100%-correct@db.example.com/reveille", "100%-correct"],
  ])("are those of the database too: %s", (url, password) => {
    const block = { store: { url } };
    expect([hasSecret(block, `The password is ${password}.`), hasSecret(block, `See ${url}`)]).toEqual([true, true]);
  });

  it("are not the short password of a database, which is a word", () => {
    const block = { store: { url: "postgresql://reveille:reveille@127.0.0.1/reveille" } };
    expect([hasSecret(block, "Reveille has started."), hasSecret(block, block.store.url)]).toEqual([false, true]);
  });
});
