import { buildConsolePage } from "../../scripts/console-page.ts";
import { installPackages } from "../../scripts/install-packages.ts";

/** Installs what drives the browser, and builds the page that the gateway of the sources serves. */
export default async function setup(): Promise<void> {
  installPackages("test/browser");
  await buildConsolePage("src/console/page");
}
