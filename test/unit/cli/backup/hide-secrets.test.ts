import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import JSON5 from "json5";
import { expect, it, onTestFinished } from "vitest";
import { hideSecrets } from "../../../../src/cli/backup/hide-secrets.ts";
import { ConfigFile } from "../../../../src/cli/config-file.ts";

it("puts a variable in the place of each secret that is written, and leaves the rest as it is", () => {
  const folder = mkdtempSync(join(tmpdir(), "reveille-hide-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "reveille.json5");
  writeFileSync(
    file,
    `{
  // The old one was sk-of-the-model-0001.
  gateway: { auth: { token: ["sk-of-the-gateway-1", { env: "NAMED" }] }, port: 0 },
  models: { providers: { big: { baseUrl: "https://api.example.com", apiKey: "sk-of-the-model-0001", headers: { "x-a": "sk-header-0001" } } } },
  hooks: {
    enabled: true, token: "\${HOOK_TOKEN}", tokenHeader: "x-own", defaultSessionKey: "hook:all",
    presets: ["github", "./acme.ts"],
    github: { secret: "sk-of-github-0001", messageTemplate: "x" },
    acme: { apiKey: "sk-of-acme-00001", publicKey: "not-a-secret" },
    senders: { shop: { preset: "stripe", secret: { file: "shop" } } },
    mappings: [{ match: { path: "a" }, auth: { scheme: "secret", from: ["header:x"], secret: "sk-of-mapping-01" }, sessionKey: "hook:a", messageTemplate: "{{token}}" }],
  },
}
`,
    { mode: 0o600 },
  );
  const { text, leftOut } = hideSecrets(ConfigFile.read(file));
  expect(text).not.toMatch(/sk-/u);
  expect(text).toContain("// The old one was .");
  expect(leftOut.map(({ path, from }) => `${path} ${from}`)).toEqual([
    "gateway.auth.token[0] REVEILLE_GATEWAY_AUTH_TOKEN_0",
    "models.providers.big.apiKey REVEILLE_MODELS_PROVIDERS_BIG_APIKEY",
    "models.providers.big.headers.x-a REVEILLE_MODELS_PROVIDERS_BIG_HEADERS_X_A",
    "hooks.github.secret REVEILLE_HOOKS_GITHUB_SECRET",
    "hooks.acme.apiKey REVEILLE_HOOKS_ACME_APIKEY",
    "hooks.mappings[0].auth.secret REVEILLE_HOOKS_MAPPINGS_0_AUTH_SECRET",
  ]);
  expect(JSON5.parse(text)).toMatchObject({
    gateway: { auth: { token: [`\${REVEILLE_GATEWAY_AUTH_TOKEN_0}`, { env: "NAMED" }] } },
    hooks: {
      token: `\${HOOK_TOKEN}`,
      tokenHeader: "x-own",
      defaultSessionKey: "hook:all",
      acme: { publicKey: "not-a-secret" },
      senders: { shop: { secret: { file: "shop" } } },
      mappings: [{ sessionKey: "hook:a", messageTemplate: "{{token}}" }],
    },
  });
});
