import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { OpenedConsole } from "./opened-console.ts";

/** With `SCREENSHOTS=1`, the pictures of docs/operate/console.md are written; without it, the pages are only shown. */
const FOLDER = process.env.SCREENSHOTS === undefined ? undefined : join(import.meta.dirname, "../../docs/images");

it("the pages of docs/operate/console.md are shown with deliveries, in light and in dark", async () => {
  await using opened = await OpenedConsole.open({ viewport: { width: 1_000, height: 560 } });
  const { page } = opened;
  for (let id = 1; id <= 8; id++) await opened.call(id % 3 === 0 ? "large" : "build", { id, text: "main", amount: 1 });
  const last = await opened.call("build", { id: 9, text: "release" });
  for (const [name, fragment, colorScheme] of [
    ["console-overview", "", "light"],
    ["console-deliveries", "deliveries", "light"],
    ["console-delivery", `deliveries/${last}`, "dark"],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await opened.show(fragment);
    await vi.waitFor(async () => expect(await page.getByText("✓").count()).toBeGreaterThan(0), 15_000);
    if (name === "console-overview") await page.getByText("9 accepted").waitFor();
    const picture = await page.screenshot();
    expect(picture.length).toBeGreaterThan(10_000);
    if (FOLDER === undefined) continue;
    mkdirSync(FOLDER, { recursive: true });
    await page.screenshot({ path: join(FOLDER, `${name}.png`) });
  }
  await opened.expectUnbroken();
});
