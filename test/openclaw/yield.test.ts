import { describe, expect, it, vi } from "vitest";
import { installationOfSuite } from "./installation-of-suite.ts";
import { HOOK_TOKEN } from "./running-installation.ts";

const patience = { timeout: 120_000, interval: 1_000 };

describe("a run whose turn yields in the real OpenClaw", () => {
  const installation = installationOfSuite({ enabled: true, token: HOOK_TOKEN });

  it("goes on until the child it waits for has woken it, and sends the reply of that turn once", async () => {
    const id = await accept({ message: "Let a child say it [delegate yielded.]" });
    await vi.waitFor(async () => expect(await delivery(id)).toMatchObject({ state: "done", reason: null }), patience);
    expect(await delivery(id)).toMatchObject({ runs: [{ attempts: [{ number: 1, status: "ok" }] }] });
    expect(installation().botApi.sent.map(({ text }) => text)).toEqual(["Done: the child said yielded."]);
  });

  it("ends with its time when it waits for what nobody sends", async () => {
    const id = await accept({ message: "Wait [wait]", timeoutSeconds: 15 });
    await vi.waitFor(async () => expect(await delivery(id)).toMatchObject({ state: "failed" }), patience);
    expect(await delivery(id)).toMatchObject({ runs: [{ attempts: [{ number: 1, status: "timeout" }] }] });
  });

  async function accept(call: object): Promise<string> {
    const answer = await installation().post("/reveille/agent", { ...call, channel: "telegram", to: "777" });
    expect(answer).toMatchObject({ status: 202 });
    return (JSON.parse(answer.text) as { deliveryId: string }).deliveryId;
  }

  async function delivery(id: string): Promise<unknown> {
    const { code, out } = await installation().openclaw("reveille", "deliveries", "show", id, "--json");
    expect(code).toBe(0);
    return JSON.parse(out);
  }
});
