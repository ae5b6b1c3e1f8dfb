import type { Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { baseConfig, callHook, readApi } from "../unit/hosts/embedded/gateway/fixture.ts";
import { OpenedConsole } from "./opened-console.ts";

let opened: OpenedConsole;

beforeAll(async () => {
  opened = await OpenedConsole.open();
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

async function count(query: string): Promise<number> {
  const answer = await readApi(opened.gateway, `deliveries?limit=200&${query}`);
  return ((await answer.json()) as { deliveries: unknown[] }).deliveries.length;
}

function isFocused(link: Locator): Promise<boolean> {
  return link.evaluate((element) => element === document.activeElement);
}

async function resume(): Promise<void> {
  await readApi(opened.gateway, "hooks");
  await opened.show("hooks");
  const button = opened.page.getByRole("button", { name: "Resume build" });
  await button.click();
  await opened.page.getByRole("button", { name: "Pause build" }).waitFor();
}

describe("the actions of the console", () => {
  it("pause and resume a mapping", async () => {
    const { page } = opened;
    await opened.show("hooks");
    await page.getByRole("button", { name: "Pause build" }).click();
    await page.getByText("paused since").waitFor();
    await opened.call("build", { id: 0, text: "waits" });
    await opened.show("");
    await page.getByText("build is paused since").waitFor();
    await resume();
    await vi.waitFor(async () => expect(await count("state=done&route=build")).toBe(1), 15_000);
    await opened.expectUnbroken();
  });

  it("show why a session still waits, and cancel its wait", async () => {
    const { page } = opened;
    const correlation = { path: "amount", equals: "7" };
    await opened.addWait({ hook: "large", correlation, note: "the large one", withinSeconds: 3_600 });
    await opened.show("waits");
    const row = page.getByRole("row", { name: /the large one/u });
    await row.getByText("a call of large with amount = 7 has not come yet.").waitFor();
    await row.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("No session waits.").waitFor();
    expect(await (await readApi(opened.gateway, "waits")).json()).toEqual({ waits: [] });
    await opened.expectUnbroken();
  });

  it("replay what is selected, after a count, and show that it is done", async () => {
    const { page } = opened;
    for (let id = 1; id <= 3; id++) await opened.call("build", { id, text: "again" });
    await vi.waitFor(async () => expect(await count("state=done&text=again")).toBe(3), 15_000);
    await opened.show("deliveries?text=again");
    await page.getByRole("checkbox", { name: "Select all on this page" }).check();
    await page.getByRole("button", { name: "Replay 3 selected" }).click();
    await page.getByText("Replay 3 deliveries?").waitFor();
    expect(await count("text=again")).toBe(3);
    await page.getByRole("button", { name: "Replay 3", exact: true }).click();
    await page.getByText("Replay: 3 of 3 done.").waitFor();
    await vi.waitFor(async () => expect(await count("state=done&text=again")).toBe(6), 15_000);
    await opened.expectUnbroken();
  });

  it("cancel and purge all that fit a filter, and one delivery on its page", async () => {
    const { page } = opened;
    await opened.show("hooks");
    await page.getByRole("button", { name: "Pause build" }).click();
    await page.getByText("paused since").waitFor();
    const ids = await Promise.all([7, 8, 9].map((id) => opened.call("build", { id, text: "stopped" })));
    await opened.show(`deliveries/${ids[0]}`);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("Canceled.").waitFor();
    await opened.show("deliveries?text=stopped&state=queued");
    await page.getByRole("button", { name: "Cancel all that fit" }).click();
    await page.getByRole("button", { name: "Cancel 2", exact: true }).click();
    await page.getByText("Cancel: 2 of 2 done.").waitFor();
    await resume();
    await opened.show("deliveries?text=stopped");
    await page.getByRole("button", { name: "Purge all that fit" }).click();
    await page.getByRole("button", { name: "Purge 3", exact: true }).click();
    await page.getByText("Purge: 3 of 3 done.").waitFor();
    expect(await count("text=stopped&state=queued")).toBe(0);
    await opened.expectUnbroken();
  });

  it("replay one delivery as accepted and lead to the new one", async () => {
    const { page } = opened;
    const id = await opened.call("build", { id: 20, text: "single" });
    await vi.waitFor(async () => expect(await count("state=done&text=single")).toBe(1), 15_000);
    await opened.show(`deliveries/${id}`);
    await page.getByRole("button", { name: "Replay as accepted" }).click();
    await page.getByText("replay of").waitFor();
    await page.getByRole("link", { name: id }).waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download" }).click();
    expect((await download).suggestedFilename()).toMatch(/\.bin$/u);
    await opened.expectUnbroken();
  });

  it("resolve a failure with a note, after which nothing needs its owner", async () => {
    const { page } = opened;
    const id = await opened.call("pager", { text: "lost" });
    await vi.waitFor(async () => expect(await count("open=true")).toBe(1), 15_000);
    await opened.show("");
    await page.getByRole("link", { name: "1 open failure" }).click();
    await page.getByRole("cell", { name: "failed" }).first().waitFor();
    await opened.show(`deliveries/${id}`);
    await page.getByRole("textbox", { name: "Why it needs nothing more" }).fill("Called by phone.");
    await page.getByRole("button", { name: "Resolve", exact: true }).click();
    await page.getByText("Called by phone.").waitFor();
    expect(await count("open=true")).toBe(0);
    expect(await count("state=failed")).toBe(1);
    await opened.expectUnbroken();
  });

  it("show what was accepted and refused in the last hour and day, and where a sender calls", async () => {
    const { page } = opened;
    const wrong = await callHook(opened.gateway, "/hooks/build", {}, "a-wrong-token");
    expect(wrong.status).toBe(401);
    await opened.show("");
    await page
      .getByText(/\d+ accepted, 1 of them failed and \d+ queued, 1 refused; at most \d+ in one minute/u)
      .waitFor();
    await page.getByRole("button", { name: "The last day" }).click();
    await page.getByText(/1 refused; at most \d+ in one hour/u).waitFor();
    await opened.show("hooks");
    await page.getByText(`${opened.gateway.url}/hooks/pager`).waitFor();
    await page.getByText("UNAUTHORIZED").first().waitFor();
    expect(await opened.accessibilityProblems()).toEqual([]);
    await opened.expectUnbroken();
  });

  it("keep the rows in place while new deliveries arrive, and miss none when the connection was lost", async () => {
    const { page } = opened;
    await opened.show("deliveries?text=stream");
    await page.getByText("No delivery fits.").waitFor();
    await opened.call("build", { id: 30, text: "stream" });
    await page.getByRole("button", { name: "Show 1 new" }).click();
    await page.locator("tbody tr").waitFor();
    await page.context().setOffline(true);
    await opened.call("build", { id: 31, text: "stream" });
    await page.context().setOffline(false);
    await page.getByRole("button", { name: /Show \d+ new/u }).click();
    await vi.waitFor(async () => expect(await page.locator("tbody tr").count()).toBe(2), 15_000);
    opened.problems.length = 0;
  });

  it("are reached with the keyboard alone", async () => {
    const { page } = opened;
    await opened.show("deliveries");
    await page.locator("h1").waitFor();
    await page.getByRole("link", { name: "Overview" }).focus();
    const senders = page.getByRole("link", { name: "Senders and mappings" });
    for (let tabs = 0; tabs < 10 && !(await isFocused(senders)); tabs++) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Senders and mappings" }).waitFor();
    await page.getByRole("button", { name: "Pause build" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("paused since").waitFor();
    await resume();
  });

  it("ask to sign in again after a sign-out, take the token, and end with a rotated one", async () => {
    const { page } = opened;
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Gateway token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("That is not the gateway token").waitFor();
    await page.getByLabel("Gateway token").fill(baseConfig.gateway.auth.token);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    opened.fixture.write({
      ...baseConfig,
      gateway: { ...baseConfig.gateway, auth: { token: "another-token-of-these-tests" } },
    });
    await opened.gateway.reload();
    await opened.show("sessions");
    await page.getByLabel("Gateway token").waitFor();
  });
});

describe("a console with many deliveries", () => {
  it("shows 50 of 10,000, and replays 1,000 of them with a progress bar", async () => {
    await using large = await OpenedConsole.open();
    const { gateway, page } = large;
    const calls = Array.from({ length: 10_000 }, (_, id) => ({ path: id % 10 === 0 ? "some" : "many", id }));
    for (let at = 0; at < calls.length; at += 100) {
      await Promise.all(
        calls.slice(at, at + 100).map(({ path, id }) => callHook(gateway, `/hooks/${path}`, { amount: 1, id })),
      );
    }
    await large.show("deliveries?route=some");
    await page.locator("tbody tr").first().waitFor();
    expect(await page.locator("tbody tr").count()).toBe(50);
    await page.getByRole("link", { name: "Older deliveries" }).click();
    await page.getByRole("link", { name: "Newest" }).waitFor();
    await page.getByRole("button", { name: "Replay all that fit" }).click();
    await page.getByText("Replay 1000 deliveries?").waitFor();
    await page.getByRole("button", { name: "Replay 1000", exact: true }).click();
    await page.getByRole("progressbar", { name: "Progress" }).waitFor();
    await page.getByText("Replay: 1000 of 1000 done.").waitFor({ timeout: 60_000 });
    await large.expectUnbroken();
  }, 110_000);
});
