import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { knownSecrets } from "../../../../../src/hosts/embedded/config/known-secrets.ts";
import { readGatewayConfig } from "../../../../../src/hosts/embedded/config/read.ts";

it("the secrets of a configuration are those of every section, and no other header or address", () => {
  const folder = mkdtempSync(join(tmpdir(), "reveille-config-"));
  try {
    const file = join(folder, "reveille.json5");
    const whsec = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
    const program = { command: ["agent"], env: ["GITHUB_TOKEN", "LANGUAGE"], isolation: "none" };
    const written = {
      gateway: { auth: { token: ["gateway-token-one", "gateway-token-two"] } },
      models: {
        providers: {
          local: {
            baseUrl: "http://127.0.0.1:1/v1",
            apiKey: "model-key",
            headers: { "x-title": "Gateway", "x-api-key": "header-key" },
          },
        },
      },
      channels: {
        webhook: { url: "https://receiver.example.com/in", secret: whsec },
        bot: { preset: "telegram", secret: "4711:bot-token" },
        team: { preset: "slack-webhook", url: "https://hooks.example.com/services/T0/B0/abcdef" },
        push: { preset: "ntfy", url: "https://push.example.com" },
      },
      telemetry: {
        metrics: { token: "scrape-token" },
        otlp: { url: "https://traces.example.com/v1", headers: { authorization: "Bearer trace-token" } },
      },
      agents: {
        list: [
          {
            id: "model",
            default: true,
            model: "local/m",
            tools: {
              mcp: { far: { url: "https://mcp.example.com", headers: { "x-token": "mcp-token" } } },
              allow: ["far.*"],
            },
          },
          { id: "program", runtime: { type: "command", ...program } },
        ],
      },
    };
    writeFileSync(file, JSON.stringify(written), { mode: 0o600 });
    const { config } = readGatewayConfig({ file, env: {} });
    const found = knownSecrets(config, { GITHUB_TOKEN: "variable-token", LANGUAGE: "en" });
    expect(new Set(found)).toEqual(
      new Set([
        "gateway-token-one",
        "gateway-token-two",
        "model-key",
        "header-key",
        whsec,
        "4711:bot-token",
        "/services/T0/B0/abcdef",
        "scrape-token",
        "Bearer trace-token",
        "mcp-token",
        "variable-token",
      ]),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
