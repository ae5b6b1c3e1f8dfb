import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AgentRunResult } from "../../../src/core/host.ts";
import { WebhookIngress } from "../../../src/ingress/plugin.ts";
import { AGENT_CALL, IngressHost, TOKEN } from "./ingress-host.ts";
import type { HostAnswer } from "./ingress-host.ts";

/** For what happens by itself; how long it takes is no matter. */
const SOON = { timeout: 15_000, interval: 5 };
let fixture: IngressHost;
let ingress: WebhookIngress;
beforeEach(async () => {
  fixture = await IngressHost.listen();
  ingress = new WebhookIngress({ openStore: fixture.openStore });
  ingress.apply(fixture.host);
  await fixture.load({}, "start");
});
afterEach(() => fixture[Symbol.asyncDispose]());

function call(): Promise<HostAnswer> {
  return fixture.post("/hooks/agent", AGENT_CALL);
}

/** Runs hold until they are stopped. */
function holdUntilAborted(): void {
  fixture.scripted.onRun = async ({ signal }) => {
    if (!signal.aborted) await once(signal, "abort");
    return { status: "aborted", reply: "", error: "stopped" };
  };
}

async function stateOf(later: WebhookIngress, answer: HostAnswer): Promise<string | undefined> {
  return (await later.deliveries().get(String(answer.body["deliveryId"])))?.state;
}

describe("a shutdown", () => {
  it("answers 503 from then on, with Retry-After, and closes the connection", async () => {
    await fixture.shutdown(5_000);
    const answer = await call();
    expect([answer.status, answer.body["code"]]).toEqual([503, "SHUTTING_DOWN"]);
    expect(answer.headers.get("retry-after")).toMatch(/^[1-9]/);
    expect(answer.headers.get("connection")).toBe("close");
  });

  it("waits for the runs in progress, and starts no other", async () => {
    await fixture.load({ concurrency: 1 });
    const held = Promise.withResolvers<AgentRunResult>();
    fixture.scripted.onRun = () => held.promise;
    const [first, second] = [await call(), await call()];
    await vi.waitFor(() => expect(fixture.scripted.runs).toHaveLength(1), SOON);
    let isDown = false;
    const down = fixture.shutdown(20_000).then(() => (isDown = true));
    expect((await call()).status).toBe(503);
    expect(isDown).toBe(false);
    held.resolve({ status: "ok", reply: "NO_REPLY" });
    await down;
    expect(fixture.scripted.runs).toHaveLength(1);

    const next = await fixture.other({ sameFolder: true });
    const later = new WebhookIngress({ openStore: next.openStore });
    later.apply(next.host);
    await next.load({}, "start");
    expect(await stateOf(later, first)).toBe("done");
    await vi.waitFor(async () => expect(await stateOf(later, second)).toBe("done"), SOON);
  });

  it("leaves a run on disk that does not end by the deadline; it runs again at the next start, and says so", async () => {
    holdUntilAborted();
    const answer = await call();
    await vi.waitFor(() => expect(fixture.scripted.runs).toHaveLength(1), SOON);
    await fixture.shutdown(50);
    expect(fixture.scripted.runs[0]!.signal.aborted).toBe(true);

    const next = await fixture.other({ sameFolder: true });
    const later = new WebhookIngress({ openStore: next.openStore });
    later.apply(next.host);
    const commit = await next.offer({}, "start");
    // Nothing begins before the configuration is active.
    expect(next.scripted.runs).toHaveLength(0);
    commit();
    await vi.waitFor(async () => expect(await stateOf(later, answer)).toBe("done"), SOON);
    expect(next.scripted.runs).toHaveLength(1);
    expect(next.scripted.runs[0]!.prompt).toContain("may already have taken effect");
    const { runs } = (await later.deliveries().get(String(answer.body["deliveryId"])))!;
    expect(runs[0]!.attempts.map(({ status }) => status)).toEqual(["interrupted", "ok"]);
  });

  it("closes the store, and a second one does no harm", async () => {
    await fixture.shutdown(5_000);
    await fixture.shutdown(5_000);
    await expect(ingress.deliveries().list({ limit: 1 })).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("before any configuration does no harm", async () => {
    const other = await fixture.other({ sameFolder: false });
    new WebhookIngress().apply(other.host);
    await other.shutdown(5_000);
    expect(readdirSync(other.folder)).toEqual([]);
  });

  it("refuses a request in progress when the store closes: 503, and nothing is lost silently", async () => {
    const body = JSON.stringify(AGENT_CALL);
    const socket = connect({ host: "127.0.0.1", port: fixture.port });
    let received = "";
    socket.on("data", (chunk: Buffer) => (received += chunk.toString()));
    const head = ["POST /hooks/agent HTTP/1.1", "Host: x", `Authorization: Bearer ${TOKEN}`, "Expect: 100-continue"];
    socket.write([...head, `Content-Length: ${body.length}`, "", ""].join("\r\n"));
    await vi.waitFor(() => expect(received).toContain("100 Continue"), SOON);
    await fixture.shutdown(5_000);
    socket.write(body);
    await vi.waitFor(() => expect(received).toContain("HTTP/1.1 503"), SOON);
    expect(received).toContain("SHUTTING_DOWN");
    socket.destroy();
  });
});
