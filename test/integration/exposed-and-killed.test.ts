import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { FakeTools, tailscaleOutput } from "../unit/hosts/embedded/gateway/fake-tools.ts";
import { GatewayProcess } from "./gateway-process.ts";

it("leaves no process of the tool behind when the gateway is killed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reveille-exposed-"));
  const tools = new FakeTools(folder);
  tools.addLasting("tailscale", tailscaleOutput("box.tail1"));
  const auth = { token: "gateway-token-of-the-integration-tests" };
  const gateway = new GatewayProcess({ gateway: { auth, expose: { via: "tailscale" } } });
  onTestFinished(async () => {
    await gateway.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await gateway.start({ env: tools.env });
  await vi.waitFor(() => expect(gateway.log).toContain("https://box.tail1.ts.net"), 20_000);
  await vi.waitFor(() => expect(tools.alive("tailscale")).toHaveLength(2), 20_000);
  await gateway.end("SIGKILL");
  await vi.waitFor(() => expect(tools.alive("tailscale")).toEqual([]), 20_000);
});
