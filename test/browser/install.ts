import { installPackages } from "../../scripts/install-packages.ts";

/** Installs what drives the browser. */
export default function setup(): void {
  installPackages("test/browser");
}
