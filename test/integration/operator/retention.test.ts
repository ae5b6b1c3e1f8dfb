import { expect, it, vi } from "vitest";
import { OperatedGateway } from "./operated-gateway.ts";

const DAY_MS = 86_400_000;

it("old deliveries and transcripts of runs go after their time; open deliveries and conversations stay", async () => {
  await using operated = await OperatedGateway.start({ retention: { deliveries: "20d", payloads: "10d" } });
  await operated.api("POST", "hooks/*/pause");
  const open = await operated.accept("agent", { message: "Open.", wakeMode: "next-heartbeat" });
  await operated.api("POST", "hooks/*/resume");
  await operated.becomes(open, "done");
  await operated.api("POST", "hooks/*/pause");
  const waiting = await operated.accept("agent", { message: "Waiting.", wakeMode: "next-heartbeat" });
  const messages = async (key: string): Promise<unknown[]> =>
    (await operated.api("GET", `sessions/${encodeURIComponent(key)}/messages`)).body["messages"] as unknown[];
  const sessionKey = (await operated.delivery(open)).runs[0]!.spec.sessionKey;
  expect(await messages(sessionKey)).toHaveLength(2);
  const later = (days: number) => ({ clock: { now: () => Date.now() + days * DAY_MS } });

  await operated.restart(later(15));
  await vi.waitFor(async () => expect((await operated.delivery(open)).bodyBytes).toBe(0), 10_000);
  expect((await operated.delivery(waiting)).bodyBytes).toBeGreaterThan(0);
  expect(await messages(sessionKey)).toHaveLength(2);

  await operated.restart(later(35));
  await vi.waitFor(async () => {
    expect((await operated.api("GET", `deliveries/${open}`)).status).toBe(404);
    expect(await messages(sessionKey)).toHaveLength(0);
  }, 10_000);
  expect((await operated.delivery(waiting)).state).toBe("queued");
});
