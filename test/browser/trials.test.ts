import { expect, it } from "vitest";
import { baseConfig, readApi } from "../unit/hosts/embedded/gateway/fixture.ts";
import { HOSTILE, OpenedConsole } from "./opened-console.ts";

it("the playground shows the prompt of a payload, of a stored delivery too, and stores nothing", async () => {
  await using opened = await OpenedConsole.open();
  const { page } = opened;
  const id = await opened.call("build", { id: 1, text: HOSTILE });
  await opened.show(`deliveries/${id}`);
  await page.getByRole("link", { name: "Open in the playground" }).click();
  await page.getByRole("button", { name: "Take its payload" }).click();
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByText("It starts a run. Mapping: build.").waitFor();
  expect(await page.getByRole("region", { name: "Outcome: prompt of run 1" }).textContent()).toContain("<img src=x");
  expect(await opened.accessibilityProblems()).toEqual([]);
  await page.getByLabel("Route").fill("large");
  await page.getByLabel("Payload", { exact: true }).fill('{"amount":1}');
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByText("It is filtered.").waitFor();
  const { deliveries } = (await (await readApi(opened.gateway, "deliveries")).json()) as { deliveries: unknown[] };
  expect(deliveries).toHaveLength(1);
  await opened.expectUnbroken();
});

it("the playground judges a delivery by its headers, too", async () => {
  await using opened = await OpenedConsole.open();
  const { page } = opened;
  await opened.callSigned({ zen: "Speak like a human.", hook_id: 1 });
  await opened.show("deliveries");
  await page
    .getByRole("row", { name: /github/u })
    .getByRole("link")
    .click();
  await page.getByRole("link", { name: "Open in the playground" }).click();
  await page.getByRole("button", { name: "Take its payload" }).click();
  await page.getByText("Its headers count as well").waitFor();
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByText("It is filtered. a ping").waitFor();
  expect(await opened.accessibilityProblems()).toEqual([]);
  await opened.expectUnbroken();
});

it("a template is edited in the playground, backtested with its forecast, and nothing has changed", async () => {
  await using opened = await OpenedConsole.open();
  const { page } = opened;
  await opened.call("build", { id: 1, text: "first" });
  await opened.show("playground");
  await page.getByLabel("Route").fill("build");
  await page.getByLabel("Payload", { exact: true }).fill('{"id":7,"text":"seven"}');
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByLabel("Template").fill("Edited {{id}}");
  await page.getByLabel("Instructions").fill(HOSTILE);
  await page.getByRole("button", { name: "Try the edit" }).click();
  const prompt = page.getByRole("region", { name: "Outcome of the edit: prompt of run 1" });
  await prompt.waitFor();
  expect(await prompt.textContent()).toContain("Edited 7");
  expect(await page.getByRole("region", { name: "Mapping as JSON5" }).textContent()).toContain(
    'messageTemplate: "Edited {{id}}"',
  );
  expect(await opened.accessibilityProblems()).toEqual([]);
  await page.getByRole("link", { name: "backtest", exact: true }).click();
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("rendered differently: 1").waitFor();
  await page.getByLabel("JSON5").fill('[{ id: "build", when: "payload.id > 1.0" }]');
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("would no longer run: 1").waitFor();
  await page.getByRole("region", { name: "Forecast" }).getByRole("rowheader", { name: "build" }).waitFor();
  expect(await opened.accessibilityProblems()).toEqual([]);
  await page.getByLabel("JSON5").fill('[{ id: "build", templat: "x" }]');
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("The edited configuration is refused.").waitFor();
  // The browser's own line for an answer that is an error.
  expect(opened.problems.splice(0)).toEqual([expect.stringContaining("400")]);
  await opened.expectUnbroken();
});

it("a failing mapping is found, understood, edited, backtested, replayed and seen done", async () => {
  await using opened = await OpenedConsole.open();
  const { page, fixture, gateway } = opened;
  await opened.call("pager", { text: "Disk full." });
  await page.getByRole("link", { name: "1 open failure" }).click();
  await page.getByRole("region", { name: "Deliveries" }).getByRole("link").first().click();
  await page.getByText("delivery to webhook failed").first().waitFor();
  await page.getByRole("link", { name: "Open in the playground" }).click();
  await page.getByRole("button", { name: "Take its payload" }).click();
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByLabel("Other keys").fill('channel: "console"');
  await page.getByRole("button", { name: "Try the edit" }).click();
  await page.getByRole("region", { name: "Outcome of the edit", exact: true }).getByText("console to owner").waitFor();
  await page.getByRole("link", { name: "backtest", exact: true }).click();
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("rendered differently: 1").waitFor();
  // What the page printed is pasted.
  fixture.write(JSON.stringify(opened.configWith("pager", { channel: "console" })));
  await gateway.reload();
  await page.getByRole("region", { name: "Changes" }).getByRole("link").first().click();
  await page.getByRole("button", { name: "Replay by today's mapping" }).click();
  await page.getByText("✓ done").first().waitFor();
  await page.getByText("reply: sent").waitFor();
  await page.getByRole("link", { name: "Overview" }).click();
  // The channel itself still does not work.
  await page.getByText("Replies cannot be delivered on the channel webhook").waitFor();
  expect(await page.getByText("open failure").count()).toBe(0);
  await opened.expectUnbroken();
});

it("the backtest and the diff of a delivery show what an edited mapping changes", async () => {
  await using opened = await OpenedConsole.open();
  const { page, fixture, gateway } = opened;
  const id = await opened.call("build", { id: 1, text: "diff" });
  const mapping = {
    id: "build",
    match: { path: "build" },
    messageTemplate: "Changed {{id}}",
    wakeMode: "next-heartbeat",
  };
  fixture.write({ ...baseConfig, hooks: { ...baseConfig.hooks, mappings: [mapping] } });
  await gateway.reload();
  await opened.show("backtest");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("rendered differently: 1").waitFor();
  expect(await opened.accessibilityProblems()).toEqual([]);
  await opened.show(`deliveries/${id}`);
  await page.getByRole("button", { name: "Compare the prompts" }).click();
  expect(await page.locator("ins").allTextContents()).toContain("+ Changed 1\n");
  expect(await page.locator("del").allTextContents()).toContain("- Build 1: diff\n");
  expect(await opened.accessibilityProblems()).toEqual([]);
  await opened.expectUnbroken();
});
