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
  await page.getByRole("button", { name: "Try" }).click();
  await page.getByText("It starts a run. Mapping: build.").waitFor();
  expect(await page.getByRole("region", { name: "Prompt of run 1" }).textContent()).toContain("<img src=x");
  expect(await opened.accessibilityProblems()).toEqual([]);
  await page.getByLabel("Route").fill("large");
  await page.getByLabel("Payload").fill('{"amount":1}');
  await page.getByRole("button", { name: "Try" }).click();
  await page.getByText("It is filtered.").waitFor();
  const { deliveries } = (await (await readApi(opened.gateway, "deliveries")).json()) as { deliveries: unknown[] };
  expect(deliveries).toHaveLength(1);
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
