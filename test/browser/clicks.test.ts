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

async function idsOf(query: string): Promise<string[]> {
  const answer = await readApi(opened.gateway, `deliveries?limit=200&${query}`);
  return ((await answer.json()) as { deliveries: { id: string }[] }).deliveries.map(({ id }) => id);
}

async function post(path: string): Promise<void> {
  const headers = { authorization: `Bearer ${baseConfig.gateway.auth.token}` };
  expect((await fetch(`${opened.gateway.url}/api/v1/${path}`, { method: "POST", headers })).status).toBe(200);
}

async function callMany(count: number, text: string): Promise<void> {
  for (let id = 0; id < count; id++) await callHook(opened.gateway, "/hooks/many", { amount: 1, id: text });
}

describe("a click in the console", () => {
  it("counts once when it is a double one, also after the first has been carried out", async () => {
    const { page } = opened;
    const id = await opened.call("large", { amount: 1 });
    await opened.show(`deliveries/${id}`);
    const replay = page.getByRole("button", { name: "Replay by today's mapping" });
    const { x, y, height } = (await replay.boundingBox())!;
    // The page of the replay has the same button, a line lower.
    await page.mouse.move(x + 20, y + height - 4);
    await page.mouse.down({ clickCount: 1 });
    await page.mouse.up({ clickCount: 1 });
    await page.getByText("replay of").waitFor();
    await page.getByRole("region", { name: "Payload" }).waitFor();
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    // A request of the page comes after the one that the second click would send.
    await page.getByRole("button", { name: "Replay as accepted" }).click();
    await page.getByText("was accepted without a run").waitFor();
    expect(await idsOf("route=large")).toHaveLength(2);
    // The browser's own line for an answer that is an error.
    expect(opened.problems.splice(0)).toEqual([expect.stringContaining("409")]);
    await opened.expectUnbroken();
  });

  it("answers the question that was under it: a question that ends or comes moves none", async () => {
    const { page } = opened;
    const question = (id: string, title: string): object => ({
      id,
      title,
      agentId: "main",
      sessionKey: "agent:main:main",
      runId: null,
      input: "",
      askedAt: new Date().toISOString(),
      state: "waiting",
    });
    // The latest first, as the gateway lists them.
    let waiting = [question("bbb", "delete a file"), question("aaa", "read a file")];
    const answered: string[] = [];
    await page.route("**/console/api/approvals", (route) => route.fulfill({ json: { approvals: waiting } }));
    await page.route("**/console/api/approvals/*/*", async (route) => {
      answered.push(new URL(route.request().url()).pathname.split("/").slice(-2).join(" "));
      waiting = [question("ccc", "send a mail"), question("bbb", "delete a file")];
      await route.fulfill({ json: {} });
    });
    await opened.show("approvals");
    const row = page.getByRole("row", { name: /read a file/u });
    const { x, y } = (await row.getByRole("button", { name: "Approve" }).boundingBox())!;
    await page.mouse.click(x + 5, y + 5);
    await page.getByRole("row", { name: /send a mail/u }).waitFor();
    await row.getByText("approved", { exact: true }).waitFor();
    await page.mouse.click(x + 5, y + 5);
    await page
      .getByRole("row", { name: /send a mail/u })
      .getByRole("button", { name: "Deny" })
      .click();
    await page
      .getByRole("row", { name: /send a mail/u })
      .getByText("denied", { exact: true })
      .waitFor();
    expect(answered).toEqual(["aaa approve", "ccc deny"]);
    await page.unrouteAll();
    await opened.expectUnbroken();
  });
});

describe("the list of deliveries", () => {
  it("no longer has what was purged from it", async () => {
    const { page } = opened;
    await callMany(2, "gone");
    await opened.show("deliveries?route=many");
    await page.getByRole("button", { name: "Purge all that fit" }).click();
    await page.getByRole("button", { name: "Purge 2", exact: true }).click();
    await page.getByText("Purge: 2 of 2 done.").waitFor();
    await vi.waitFor(async () =>
      expect(await page.locator("tbody tr").count()).toBe(await idsOf("route=many").then((ids) => ids.length)),
    );
    await opened.expectUnbroken();
  });

  it("goes on with the rows that are shown, however many have come since, and says which fit no longer", async () => {
    const { page } = opened;
    await post("hooks/build/pause");
    const id = await opened.call("build", { id: 1, text: "busy" });
    await opened.show("deliveries?state=queued");
    const queued = page.getByRole("row", { name: new RegExp(id, "u") });
    await queued.waitFor();
    const all = await page.context().newPage();
    await all.goto(`${opened.gateway.url}/console/#/deliveries`);
    const row = all.locator("tbody tr", { has: all.getByRole("checkbox", { name: `Select ${id}` }) });
    await row.getByText("queued").waitFor();
    await callMany(60, "more");
    await all.getByRole("button", { name: "Show 50 or more new" }).waitFor();
    await post("hooks/build/resume");
    await row.getByText("done").waitFor();
    await page.locator("tbody tr").getByText("no longer here").waitFor();
    await all.close();
    await opened.expectUnbroken();
  }, 110_000);

  it("of open failures purges those that it shows, and no resolved one", async () => {
    const { page } = opened;
    const first = await opened.call("pager", { text: "a" });
    const second = await opened.call("pager", { text: "b" });
    // The newest delivery of all stays listed when it is purged.
    await callMany(1, "newest");
    await vi.waitFor(async () => expect(await idsOf("open=true")).toEqual([second, first]), 15_000);
    await post(`deliveries/${first}/resolve`);
    await opened.show("deliveries?open=true");
    await page.getByRole("button", { name: "Purge all that fit" }).click();
    await page.getByRole("button", { name: "Purge 1", exact: true }).click();
    await page.getByText("Purge: 1 of 1 done.").waitFor();
    expect(await idsOf("state=failed")).toContain(first);
    expect(await idsOf("open=true")).toEqual([]);
    await opened.expectUnbroken();
  });

  it("says which of the purged stay listed: the newest delivery of all does, without its request", async () => {
    const { page } = opened;
    await opened.call("some", { amount: 1 });
    const newest = await opened.call("some", { amount: 1 });
    await opened.show("deliveries?route=some");
    await page.getByRole("button", { name: "Purge all that fit" }).click();
    await page.getByRole("button", { name: "Purge 2", exact: true }).click();
    await page.getByText(/^Purge: 2 of 2 done\. 1 stay listed for now, without a request/u).waitFor();
    await opened.show(`deliveries/${newest}`);
    await page.getByRole("button", { name: "Purge" }).click();
    await page.getByText("Its request is removed. It stays listed for now").waitFor();
    await page.getByRole("heading", { name: `Delivery ${newest}` }).waitFor();
    await callMany(1, "newer");
    await page.getByRole("button", { name: "Purge" }).click();
    await page.getByRole("heading", { name: "Deliveries" }).waitFor();
    expect(await idsOf("route=some")).toEqual([]);
    // The page may have read the delivery once more before it was left.
    opened.problems.splice(0, opened.problems.length, ...opened.problems.filter((text) => !text.includes("404")));
    await opened.expectUnbroken();
  });

  it("of open failures stays one of open failures when another filter is added, unless that is another state", async () => {
    const { page } = opened;
    const filtersOf = (): URLSearchParams => new URLSearchParams(page.url().split("?")[1]);
    const filter = async (): Promise<void> => {
      const shown = page.url();
      await page.getByRole("button", { name: "Filter" }).click();
      await page.waitForURL((url) => url.href !== shown);
    };
    await opened.show("deliveries?open=true");
    await page.getByLabel("Route").fill("pager");
    await filter();
    expect(Object.fromEntries(filtersOf())).toEqual({ open: "true", route: "pager" });
    await page.getByLabel("State").selectOption("failed");
    await filter();
    expect(filtersOf().get("open")).toBe("true");
    await page.getByLabel("State").selectOption("done");
    await filter();
    expect(Object.fromEntries(filtersOf())).toEqual({ state: "done", route: "pager" });
    await opened.expectUnbroken();
  });

  it("does not do again what was done before an action on many failed", async () => {
    const { page } = opened;
    const sent: number[] = [];
    await callMany(60, "part");
    await page.route("**/console/api/deliveries/replay", async (route) => {
      const { ids, dryRun } = route.request().postDataJSON() as { ids?: string[]; dryRun?: boolean };
      if (dryRun === true) return route.continue();
      sent.push(ids!.length);
      return sent.length === 2 ? route.abort() : route.continue();
    });
    await opened.show("deliveries?route=many&since=1h");
    await page.getByRole("button", { name: "Replay all that fit" }).click();
    const confirm = page.getByRole("group", { name: "Confirm" }).getByRole("button", { name: /^Replay/u });
    const planned = Number(/\d+/u.exec((await confirm.textContent()) ?? "")?.[0]);
    await confirm.click();
    await page.getByText(`25 of ${planned} were treated: The gateway does not answer.`).waitFor();
    await page.getByRole("button", { name: `Replay ${planned - 25}`, exact: true }).click();
    await page.getByText(`Replay: ${planned - 25} of ${planned - 25} done.`).waitFor();
    expect(sent.reduce((sum, count) => sum + count, 0)).toBe(planned + 25);
    await page.unrouteAll();
    opened.problems.length = 0;
  });
});
