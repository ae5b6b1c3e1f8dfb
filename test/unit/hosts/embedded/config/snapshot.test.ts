import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readGatewayConfig } from "../../../../../src/hosts/embedded/config/read.ts";
import { hooksUrlOf, snapshotOf } from "../../../../../src/hosts/embedded/config/snapshot.ts";

const OF_TOOL = "https://of-the-tool.example.com";
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "reveille-config-"));
});

afterAll(() => rmSync(folder, { recursive: true }));

it.each([
  [{ publicUrl: "https://written.example.com" }, "https://written.example.com"],
  [{}, OF_TOOL],
  [{ publicUrl: "" }, OF_TOOL],
  [{ publicUrl: " " }, OF_TOOL],
])("with %j, the public URL of the hooks beside one of a tool is %s", (hooks, publicUrl) => {
  const file = join(folder, "reveille.json5");
  writeFileSync(file, JSON.stringify({ gateway: { auth: { token: "gateway-token" } }, hooks }), { mode: 0o600 });
  const { config } = readGatewayConfig({ file, env: {} });
  expect(snapshotOf(config, { reason: "start", publicUrl: OF_TOOL }).config).toMatchObject({ publicUrl });
  expect(hooksUrlOf(config, OF_TOOL)).toBe(`${publicUrl}/hooks`);
});
