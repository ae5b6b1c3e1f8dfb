import type { Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { baseConfig, GatewayFixture } from "../unit/hosts/embedded/gateway/fixture.ts";
import { OpenedConsole } from "./opened-console.ts";

let opened: OpenedConsole;

beforeAll(async () => {
  opened = await OpenedConsole.open();
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

async function signInWithToken(page: Page): Promise<void> {
  await page.getByLabel("Gateway token").fill(baseConfig.gateway.auth.token);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}

/** The browser of the tests shows every tab at once. */
async function setVisible(tab: Page, state: "hidden" | "visible"): Promise<void> {
  await tab.evaluate((visibility) => {
    Object.defineProperty(document, "visibilityState", { value: visibility, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, state);
}

describe("the sign-in of a page", () => {
  it("does not try the used link once more after a sign-out, and takes a new one in the same tab", async () => {
    const { page, gateway } = opened;
    const tried: string[] = [];
    page.on("request", (request) => {
      if (request.url().endsWith("/sign-in")) tried.push(request.url());
    });
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Gateway token").waitFor();
    await page.goto(gateway.createConsoleLink());
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    expect(tried).toHaveLength(1);
    expect(page.url()).toBe(`${gateway.url}/console/#/`);
    // What was asked just before the sign-out may be refused after it.
    opened.problems.length = 0;
  });

  it("is not ended by an answer to a request from before it", async () => {
    const { page, gateway } = opened;
    const { promise: isSignedIn, resolve: goOn } = Promise.withResolvers<void>();
    const refuseLate = async (route: Route): Promise<void> => {
      await isSignedIn;
      await route.fulfill({ status: 401, json: { error: "Sign in again." } });
    };
    await page.route("**/console/api/hooks", refuseLate, { times: 1 });
    const asked = page.waitForRequest("**/console/api/hooks");
    await opened.show("hooks");
    await asked;
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Gateway token").waitFor();
    await page.goto(gateway.createConsoleLink());
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const late = page.waitForResponse((response) => response.status() === 401);
    goOn();
    await late;
    await page.unrouteAll({ behavior: "wait" });
    await opened.show("sessions");
    await page.getByRole("heading", { name: "Sessions" }).waitFor();
    opened.problems.length = 0;
  });

  it("is asked for when the gateway has started again, on a page that only listens as well", async () => {
    const fixture = new GatewayFixture();
    try {
      const first = await fixture.start();
      const port = Number(new URL(first.url).port);
      const tab = await opened.page.context().newPage();
      await tab.goto(first.createConsoleLink());
      await tab.getByRole("button", { name: "Sign out" }).waitFor();
      await tab.goto(`${first.url}/console/#/deliveries`);
      await tab.getByText("No delivery fits.").waitFor();
      // It reads nothing more by itself, as a page on which no delivery changes.
      await tab.route("**/console/api/{deliveries,hooks}*", (route) => route.abort());
      await first.stop();
      fixture.write({ ...baseConfig, gateway: { ...baseConfig.gateway, port } });
      await fixture.start();
      await tab.getByLabel("Gateway token").waitFor();
      await tab.unrouteAll({ behavior: "ignoreErrors" });
      await signInWithToken(tab);
      await tab.getByText("No delivery fits.").waitFor();
      await tab.getByText("● live").waitFor();
      await tab.close();
    } finally {
      await fixture.remove();
    }
  });
});

describe("the sign-out of a page", () => {
  it("that the gateway does not get is no sign-out, says so, and is tried again", async () => {
    const { page } = opened;
    await opened.show("deliveries");
    await page.route("**/console/api/sign-out", (route) => route.abort(), { times: 1 });
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("This browser may still be signed in. The gateway does not answer.").waitFor();
    await page.getByRole("heading", { name: "Deliveries" }).waitFor();
    expect(await page.getByLabel("Gateway token").count()).toBe(0);
    const signedOut = page.waitForResponse("**/console/api/sign-out");
    await page.getByRole("button", { name: "Sign out" }).click();
    expect((await signedOut).status()).toBe(200);
    await signInWithToken(page);
    opened.problems.length = 0;
  });
});

describe("the connection of a page", () => {
  it("is live on a page that reads nothing by itself", async () => {
    const tab = await opened.page.context().newPage();
    await tab.goto(`${opened.gateway.url}/console/#/playground`);
    await tab.getByText("● live").waitFor();
    await tab.close();
  });

  it("is left to others while the tab is behind another, so that more tabs work than a browser has connections", async () => {
    const tabs: Page[] = [];
    for (let count = 0; count < 7; count++) {
      const tab = await opened.page.context().newPage();
      tabs.push(tab);
      await tab.goto(`${opened.gateway.url}/console/#/deliveries?text=behind`);
      await tab.getByText("No delivery fits.").waitFor();
      await tab.getByText("● live").waitFor();
      await setVisible(tab, "hidden");
    }
    await opened.call("build", { id: 1, text: "behind" });
    const [first] = tabs;
    await setVisible(first, "visible");
    await first!.getByRole("button", { name: "Show 1 new" }).waitFor();
    for (const tab of tabs) await tab.close();
  });

  it("shows also what changes without a delivery", async () => {
    const { page } = opened;
    await opened.show("hooks");
    await page.getByRole("button", { name: "Pause build" }).waitFor();
    const headers = { authorization: `Bearer ${baseConfig.gateway.auth.token}` };
    await fetch(`${opened.gateway.url}/api/v1/hooks/build/pause`, { method: "POST", headers });
    await page.getByText("paused since").waitFor();
    await opened.expectUnbroken();
  });
});
