import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GatewayProcess } from "./gateway-process.ts";
import { ModelEndpoint } from "./model-endpoint.ts";

describe("a wake that the embedded gateway takes", () => {
  let model: ModelEndpoint;
  let gateway: GatewayProcess;

  beforeEach(async () => {
    model = await ModelEndpoint.listen();
    gateway = new GatewayProcess(model.keys);
    await gateway.start();
  });
  afterEach(async () => {
    await gateway.close();
    model.close();
  });

  /** How often the model was given the text. */
  const given = (text: string): number => model.prompts.filter((prompt) => prompt.includes(text)).length;
  const wake = async (text: string, mode: "now" | "next-heartbeat"): Promise<string> => {
    const { status, body } = await gateway.post("/hooks/wake", { text, mode });
    expect(status).toBe(200);
    return String(body["deliveryId"]);
  };
  const waiting = async (): Promise<readonly string[]> => {
    const { events } = await gateway.api<{ events: { text: string }[] }>("/sessions/agent%3Amain%3Amain/events");
    return events.map(({ text }) => text);
  };

  it("is done with the answer: its session has it, once, in the order of the calls", async () => {
    const ids: string[] = [];
    for (const text of ["The first.", "The second.", "The third."]) {
      const id = await wake(text, "next-heartbeat");
      ids.push(id);
      expect(await gateway.delivery(id)).toMatchObject({ state: "done", runs: [{ state: "done", attempts: [] }] });
    }
    expect((await waiting()).map((text) => /The \w+\./u.exec(text)?.[0])).toEqual([
      "The first.",
      "The second.",
      "The third.",
    ]);
    await expect.poll(() => gateway.log.match(/"msg":"run"/gu)?.length, { timeout: 10_000 }).toBe(3);
  });

  it("survives SIGKILL right after the answer with its turn, and has that turn once", async () => {
    const id = await wake("The disk is full.", "now");
    await gateway.end("SIGKILL");
    await gateway.start();
    expect((await gateway.delivery(id)).state).toBe("done");
    await expect.poll(() => given("The disk is full."), { timeout: 20_000 }).toBe(1);
    await expect.poll(waiting, { timeout: 20_000 }).toEqual([]);
    await wake("Another one.", "now");
    await expect.poll(() => given("Another one."), { timeout: 20_000 }).toBe(1);
    await gateway.end("SIGKILL");
    await gateway.start();
    await gateway.settled();
    expect(given("Another one.")).toBeLessThanOrEqual(2);
  });

  it("waits in the queue while everything is paused, and goes before the one that comes after", async () => {
    await gateway.api("/hooks/*/pause", "POST");
    const id = await wake("The first.", "next-heartbeat");
    expect((await gateway.delivery(id)).state).toBe("queued");
    await gateway.api("/hooks/*/resume", "POST");
    await wake("The second.", "next-heartbeat");
    await gateway.settled();
    expect((await waiting()).map((text) => /The \w+\./u.exec(text)?.[0])).toEqual(["The first.", "The second."]);
  });
});
