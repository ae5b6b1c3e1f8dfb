import type { Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { readApi } from "../unit/hosts/embedded/gateway/fixture.ts";
import { OpenedConsole } from "./opened-console.ts";

let opened: OpenedConsole;

beforeAll(async () => {
  opened = await OpenedConsole.open();
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

const TALK = "agent:main:hook:talk";

/** Says texts in the session, of which `count` are then said. */
async function talk(texts: readonly string[], count: number): Promise<void> {
  for (const text of texts) await opened.call("talk", { text });
  await vi.waitFor(async () => {
    const answer = await readApi(opened.gateway, "deliveries?route=talk&state=done&limit=200");
    const { deliveries } = (await answer.json()) as { deliveries: unknown[] };
    expect(deliveries).toHaveLength(count);
  }, 30_000);
}

/** Answers as a gateway does that has two pages, and more of the newest one each time. */
function twoPages(rowsOf: (page: "newest" | "older") => object): (route: Route) => Promise<void> {
  return async (route) => {
    const cursor = new URL(route.request().url()).searchParams.get("cursor");
    const isNewest = cursor === null;
    if (!isNewest) expect(cursor).toBe("7.1");
    await route.fulfill({ json: { ...rowsOf(isNewest ? "newest" : "older"), nextCursor: isNewest ? "7.1" : null } });
  };
}

describe("a long list in the console", () => {
  it("shows the newest messages of a session, new ones as they come, and older ones behind a link", async () => {
    const { page } = opened;
    await talk(
      Array.from({ length: 51 }, (_, at) => `Text ${at}.`),
      51,
    );
    await opened.show(`sessions/${TALK}`);
    const first = page.getByRole("region", { name: "Message 2, user" });
    await first.getByText("Text 50.").waitFor();
    expect(await page.getByRole("region", { name: /^Message \d+/u }).count()).toBe(100);
    expect(await page.getByText("Text 0.").count()).toBe(0);
    await talk(["The latest."], 52);
    await first.getByText("The latest.").waitFor();
    await page.getByRole("link", { name: "Older messages" }).click();
    await page.getByRole("region", { name: "Message 4, user" }).getByText("Text 0.").waitFor();
    await first.getByText("Text 1.").waitFor();
    expect(await page.getByRole("region", { name: /^Message \d+/u }).count()).toBe(4);
    expect(await page.getByRole("link", { name: "Older messages" }).count()).toBe(0);
    expect(await opened.accessibilityProblems()).toEqual([]);
    await page.getByRole("link", { name: "Newest" }).click();
    await first.getByText("The latest.").waitFor();
    await opened.expectUnbroken();
  });

  it("leads from the latest sessions to older ones, and back", async () => {
    const { page } = opened;
    const line = (key: string): object => ({
      key,
      lastActivityAt: new Date().toISOString(),
      messages: 1,
      pendingEvents: 0,
    });
    await page.route(
      "**/console/api/sessions?*",
      twoPages((which) => ({ sessions: [line(which)] })),
    );
    await opened.show("sessions");
    await page.getByRole("link", { name: "newest", exact: true }).waitFor();
    await page.getByRole("link", { name: "Older sessions" }).click();
    await page.getByRole("link", { name: "older", exact: true }).waitFor();
    await page.getByRole("link", { name: "Newest", exact: true }).click();
    await page.getByRole("link", { name: "newest", exact: true }).waitFor();
    await page.unrouteAll();
    await opened.expectUnbroken();
  });

  it("leads from the latest messages of the outbox to older ones, and back", async () => {
    const { page } = opened;
    const sent = { id: 1, channel: "console", to: "owner", time: new Date().toISOString(), state: "sent" };
    await page.route(
      "**/console/api/outbox?*",
      twoPages((which) => ({ messages: [{ ...sent, text: `The ${which} text.` }] })),
    );
    await opened.show("outbox");
    await page.getByText("The newest text.").waitFor();
    await page.getByRole("link", { name: "Older messages" }).click();
    await page.getByText("The older text.").waitFor();
    await page.getByRole("link", { name: "Newest" }).click();
    await page.getByText("The newest text.").waitFor();
    await page.unrouteAll();
    await opened.expectUnbroken();
  });

  it("says that more events wait than it shows", async () => {
    const { page } = opened;
    await page.route("**/console/api/sessions/*/events?*", (route) =>
      route.fulfill({ json: { events: [{ id: 1, text: "Disk full." }], nextCursor: "1" } }),
    );
    await opened.show("sessions/agent:main:main");
    await page.getByText("More wait behind these.").waitFor();
    await page.unrouteAll();
    await opened.expectUnbroken();
  });
});
