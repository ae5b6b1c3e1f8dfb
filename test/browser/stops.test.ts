import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callHook } from "../unit/hosts/embedded/gateway/fixture.ts";
import { OpenedConsole } from "./opened-console.ts";

let opened: OpenedConsole;

beforeAll(async () => {
  opened = await OpenedConsole.open();
  for (let id = 0; id < 60; id++) await callHook(opened.gateway, "/hooks/many", { amount: 1, id });
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

interface Held {
  /** Requests that have come. */
  readonly sent: string[];
  /** Resolves when the first one has come. */
  readonly hasBegun: Promise<unknown>;
  /** Lets it be answered, and resolves when it was. */
  readonly goOn: () => Promise<void>;
}

/** Holds the requests of work in parts, without counts of what it would do. */
async function hold(page: Page, path: string): Promise<Held> {
  const sent: string[] = [];
  const { promise: mayGoOn, resolve } = Promise.withResolvers<void>();
  await page.route(`**/console/api/${path}`, async (route) => {
    const body = route.request().postData() ?? "";
    if (body.includes("dryRun")) return route.continue();
    sent.push(body);
    await mayGoOn;
    await route.continue();
  });
  const isPart = (request: { url(): string; postData(): string | null }): boolean =>
    request.url().endsWith(path) && request.postData()?.includes("dryRun") !== true;
  const hasBegun = page.waitForRequest(isPart);
  const isAnswered = page.waitForResponse((response) => isPart(response.request()));
  return {
    sent,
    hasBegun,
    goOn: async () => {
      resolve();
      await (await isAnswered).finished();
    },
  };
}

async function beginReplay(): Promise<Held> {
  const { page } = opened;
  await opened.show("deliveries?route=many");
  await page.getByRole("button", { name: "Replay all that fit" }).click();
  const confirm = page.getByRole("group", { name: "Confirm" }).getByRole("button", { name: /^Replay/u });
  await confirm.waitFor();
  const held = await hold(page, "deliveries/replay");
  await confirm.click();
  await held.hasBegun;
  return held;
}

describe("work in parts in the console", () => {
  it("of an action stops when its owner says so, tells what is done, and can go on with the rest", async () => {
    const { page } = opened;
    const held = await beginReplay();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Stopping …").waitFor();
    await held.goOn();
    const stopped = (await page.getByText(/^Stopped: 25 of \d+ done\.$/u).textContent()) ?? "";
    const rest = Number(/of (\d+)/u.exec(stopped)?.[1]) - 25;
    expect(held.sent).toHaveLength(1);
    await page.unrouteAll();
    await page.getByRole("button", { name: `Replay ${rest}`, exact: true }).click();
    await page.getByText(`Replay: ${rest} of ${rest} done.`).waitFor();
    await opened.expectUnbroken();
  });

  it("of an action stops when its page is left", async () => {
    const { page } = opened;
    const held = await beginReplay();
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await held.goOn();
    // What a page that goes on would send comes before the answer to a request of the next one.
    await opened.show("waits");
    await page.getByText("No session waits.").waitFor();
    expect(held.sent).toHaveLength(1);
    await page.unrouteAll();
    await opened.expectUnbroken();
  });

  it("of a backtest stops when its owner says so or its page is left", async () => {
    const { page } = opened;
    for (let id = 0; id < 160; id++) await callHook(opened.gateway, "/hooks/many", { amount: 1, id });
    for (const end of ["stopped", "left"] as const) {
      await opened.show("backtest");
      const held = await hold(page, "deliveries/backtest");
      await page.getByRole("button", { name: "Run" }).click();
      await held.hasBegun;
      if (end === "stopped") {
        await page.getByRole("button", { name: "Stop" }).click();
        await page.getByText("Stopped before the end.").waitFor();
        expect(await page.getByRole("button", { name: "Run" }).isEnabled()).toBe(true);
      } else {
        await page.getByRole("link", { name: "Overview" }).click();
        await page.getByRole("heading", { name: "Overview" }).waitFor();
      }
      await held.goOn();
      await opened.show("waits");
      await page.getByText("No session waits.").waitFor();
      expect([end, held.sent.length]).toEqual([end, 1]);
      await page.unrouteAll();
    }
    await opened.show("backtest");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText(/^as before: \d+/u).waitFor();
    await opened.expectUnbroken();
  });
});
