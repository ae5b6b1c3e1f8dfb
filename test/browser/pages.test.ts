import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hookToken } from "../unit/hosts/embedded/gateway/fixture.ts";
import { HOSTILE, OpenedConsole } from "./opened-console.ts";

let opened: OpenedConsole;
let id: string;

beforeAll(async () => {
  opened = await OpenedConsole.open();
  id = await opened.call("build", { id: HOSTILE, text: HOSTILE, [HOSTILE]: HOSTILE });
  await opened.call("large", { amount: 1 });
  await opened.call("wake", { text: HOSTILE, mode: "next-heartbeat" });
  await opened.addWait({ hook: "large", note: HOSTILE, withinSeconds: 86_400 });
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

describe("the pages of the console", () => {
  it("list who sent a delivery, what it was answered and how long it took", async () => {
    const { page } = opened;
    await opened.callSigned({ zen: "Speak like a human.", hook_id: 1 });
    await opened.show("deliveries");
    await page.getByRole("row", { name: /github github .* 200$/u }).waitFor();
    await page.getByRole("row", { name: /done build .* \d[\d.]* (?:ms|s) 202$/u }).waitFor();
  });

  it("count calls by the clock of the gateway, whatever that of the browser says", async () => {
    const tab = await opened.page.context().newPage();
    await tab.clock.setFixedTime(Date.now() + 10 * 86_400_000);
    await tab.goto(`${opened.gateway.url}/console/#/`);
    await tab.getByText(/[1-9]\d* accepted, 0 of them failed/u).waitFor();
    await tab.close();
  });

  it("show a number of a payload as it was written", async () => {
    const { page } = opened;
    const body = '{"amount":1.0,"id":12345678901234567890}';
    const headers = { authorization: `Bearer ${hookToken}`, "content-type": "application/json" };
    const answer = await fetch(`${opened.gateway.url}/hooks/large`, { method: "POST", headers, body });
    const { deliveryId } = (await answer.json()) as { deliveryId: string };
    await opened.show(`deliveries/${deliveryId}`);
    const payload = page.getByRole("region", { name: "Payload" });
    await payload.getByText('"id": 12345678901234567890').waitFor();
    await opened.expectUnbroken();
  });

  it("show what a sender wrote as text, on every page, and break no rule of their policy", async () => {
    const { page } = opened;
    await opened.show("deliveries");
    await page.getByText(HOSTILE.slice(0, 30)).first().waitFor();
    await opened.show(`deliveries/${id}`);
    await page.getByRole("region", { name: "Payload" }).waitFor();
    expect(await page.getByRole("region", { name: "Payload" }).textContent()).toContain("<img src=x");
    await page.getByText("Message to the agent").click();
    expect(await page.getByRole("region", { name: "Message of run 1" }).textContent()).toContain(
      HOSTILE.replace("\u202E", ""),
    );
    await opened.show("sessions");
    await page.getByRole("link", { name: "agent:main:main" }).click();
    await page.getByRole("heading", { name: "Session agent:main:main" }).waitFor();
    await page.getByText("<script>").first().waitFor();
    for (const [fragment, heading] of [
      ["hooks", "Senders and mappings"],
      ["outbox", "Outbox"],
      ["waits", "Waits"],
      ["", "Overview"],
      [`deliveries/${encodeURIComponent(HOSTILE)}`, "Delivery"],
    ] as const) {
      await opened.show(fragment);
      await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
    }
    await page.getByRole("alert").waitFor();
    expect(await page.locator("img, iframe, object, main script").count()).toBe(0);
    // The last page asks for a delivery that does not exist.
    opened.problems.splice(0, opened.problems.length, ...opened.problems.filter((text) => !text.includes("404")));
    await opened.expectUnbroken();
  });

  it.for([
    ["light", 1_200],
    ["dark", 1_200],
    ["light", 360],
  ] as const)("are accessible in %s at %i pixels, and no wider than the window", async ([colorScheme, width]) => {
    const { page } = opened;
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    for (const fragment of [
      "",
      "deliveries",
      `deliveries/${id}`,
      "playground",
      "backtest",
      "hooks",
      "sessions",
      "outbox",
      "waits",
    ]) {
      await opened.show(fragment);
      await page.locator("h1").waitFor();
      await page.getByText("Reading …").waitFor({ state: "hidden" });
      expect([fragment, await opened.accessibilityProblems()]).toEqual([fragment, []]);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect([fragment, overflow <= 0]).toEqual([fragment, true]);
    }
  });
});
