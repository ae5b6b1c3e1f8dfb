import { existsSync } from "node:fs";
import { buildConsolePage } from "../../scripts/console-page.ts";
import { installPackages } from "../../scripts/install-packages.ts";
import { CHROMIUM } from "./chromium.ts";

/** Installs what drives the browser, and builds the page that the gateway of the sources serves. */
export default async function setup(): Promise<void> {
  if (!existsSync(CHROMIUM)) {
    throw new Error(
      `There is no browser at ${CHROMIUM}. Run apt-get install chromium, or set CHROMIUM to the path of another.`,
    );
  }
  installPackages("test/browser");
  await buildConsolePage("src/console/page");
}
