import { describe, expect, it, onTestFinished } from "vitest";
import { wordOfChild } from "./delegation.ts";
import { installationOfSuite } from "./installation-of-suite.ts";
import { HOOK_TOKEN } from "./running-installation.ts";
import type { ModelCall } from "./scripted-model.ts";

describe("a run whose turn yields in the real OpenClaw", () => {
  const installation = installationOfSuite({ enabled: true, token: HOOK_TOKEN });

  it("continues until the child it waits for has woken it, and sends the reply of that turn once", async () => {
    const id = await accept({ message: "Let a child say it [delegate yielded.]" });
    await installation().eventually(async () =>
      expect(await delivery(id)).toMatchObject({ state: "done", reason: null }),
    );
    expect(await delivery(id)).toMatchObject({ runs: [{ attempts: [{ number: 1, status: "ok" }] }] });
    expect(installation().botApi.sent.map(({ text }) => text)).toEqual(["Done: the child said yielded."]);
  });

  it("ends when its time is up while it waits for what never comes", async () => {
    const id = await accept({ message: "Wait [wait]", timeoutSeconds: 15 });
    await installation().eventually(async () => expect(await delivery(id)).toMatchObject({ state: "failed" }));
    expect(await delivery(id)).toMatchObject({ runs: [{ attempts: [{ number: 1, status: "timeout" }] }] });
  });

  it("ends with its child when it is canceled, and is never resumed", async () => {
    const { id, session, sent, release } = await delegated("canceled.");
    expect((await installation().openclaw("reveille", "deliveries", "cancel", id)).code).toBe(0);
    await installation().eventually(async () => expect(await delivery(id)).toMatchObject({ state: "canceled" }));
    await installation().eventually(() =>
      expect(ofChildren("canceled.")).toMatchObject([{ session, isGivenUp: true }]),
    );
    release();
    await aWhile();
    // Neither has the child gone on, nor has its parent been told.
    expect(installation().model.callsWith("[say canceled.]")).toHaveLength(1);
    expect(installation().botApi.sent).toHaveLength(sent);
  });

  it("has a child of its own after a SIGKILL: the host does not continue with the one before", async () => {
    const { id, session, sent, release } = await delegated("killed.");
    await installation().gateway.kill();
    release();
    await installation().restart();
    await installation().eventually(async () => expect(await delivery(id)).toMatchObject({ state: "done" }));
    await aWhile();
    const sessions = ofChildren("killed.").map((call) => call.session);
    expect(sessions).toEqual([session, expect.not.stringContaining(session)]);
    const replies = installation().botApi.sent.slice(sent);
    expect(replies.map(({ text }) => text)).toEqual(["Done: the child said killed."]);
  });

  /** Begins a run whose child, in that session, is to say the word and is held back; `sent`: replies before it. */
  async function delegated(word: string): Promise<{ id: string; session: string; sent: number; release: () => void }> {
    const { model, botApi } = installation();
    const release = model.hold(`[say ${word}]`);
    onTestFinished(release);
    const sent = botApi.sent.length;
    const id = await accept({ message: `Let a child say it [delegate ${word}]` });
    await installation().eventually(() => expect(ofChildren(word)).toHaveLength(1));
    return { id, session: ofChildren(word)[0]!.session, sent, release };
  }

  /** Calls of children that are to say the word; a parent that is told of their end reads their task as well. */
  function ofChildren(word: string): readonly ModelCall[] {
    return installation()
      .model.callsWith(`[say ${word}]`)
      .filter(({ prompt }) => wordOfChild(prompt) === undefined);
  }

  /** The host takes up what it has found some seconds after it could. */
  async function aWhile(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 20_000));
  }

  async function accept(call: object): Promise<string> {
    const answer = await installation().post("/reveille/agent", { ...call, channel: "telegram", to: "777" });
    expect(answer).toMatchObject({ status: 202 });
    return (JSON.parse(answer.text) as { deliveryId: string }).deliveryId;
  }

  function delivery(id: string): Promise<unknown> {
    return installation().read(`/deliveries/${id}`);
  }
});
