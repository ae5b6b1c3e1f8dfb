import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Compile } from "typebox/schema";
import { expect, it } from "vitest";
import { stateFolder } from "../../../../src/hosts/openclaw/host.ts";
import plugin from "../../../../src/openclaw-plugin.ts";
import { OLDEST_HOST } from "../../../../src/hosts/openclaw/require-calls.ts";

const root = join(import.meta.dirname, "../../../..");

function read(file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(root, file), "utf8")) as Record<string, unknown>;
}

const manifest = read("openclaw.plugin.json");
const validator = Compile(manifest["configSchema"] as object);
const validate = (block: object): boolean => validator.Check(block);

it("gives the host the keys of plugin.json, without the defaults that it would write into the block", () => {
  const ours = read("plugin.json");
  expect(manifest["id"]).toBe(ours["id"]);
  const keysOf = ({ configSchema }: Record<string, unknown>): string[] =>
    Object.keys((configSchema as { properties: object }).properties);
  expect(keysOf(manifest)).toEqual(keysOf(ours));
  expect(validate({ enabled: true })).toBe(true);
  expect(JSON.stringify(manifest["configSchema"])).not.toContain('"default":false');
});

it.each([
  { retiredKey: 3 },
  { mappings: [{ match: { path: "a", header: "x-b" }, auth: { header: "x-c" } }] },
  { github: { secret: "s", gone: true } },
  { senders: { shop: { preset: "shopify", gone: 1 } } },
  { maxBodyBytes: 1, maxDepth: 100_000, concurrency: 0 },
  { token: { source: "exec", provider: "vault", id: "hooks/token" } },
  { github: { secret: { env: "GITHUB_SECRET" } } },
])("takes a block that only its reader may refuse, so that the gateway starts: %j", (block) => {
  expect(validate(block)).toBe(true);
});

it("says which of its values are secrets, and which are dangerous", () => {
  const { secretInputs, dangerousFlags } = manifest["configContracts"] as {
    secretInputs: { paths: { path: string }[] };
    dangerousFlags: { path: string; equals: unknown }[];
  };
  const paths = secretInputs.paths.map(({ path }) => path);
  const wanted = [
    "token",
    "token.*",
    "mappings.*.auth.secret",
    "github.secret",
    "senders.*.secret",
    "callbacks.secret",
  ];
  expect(paths).toEqual(expect.arrayContaining(wanted));
  expect(dangerousFlags).toContainEqual({ path: "mappings.*.allowUnsafeExternalContent", equals: true });
  expect(dangerousFlags).toContainEqual({ path: "allowRequestSessionKey", equals: true });
});

it("has the state in the host's backups, as databases", () => {
  expect(manifest["backupResources"]).toEqual([
    { disposition: "include", scope: "state", relativePath: stateFolder("", "reveille") },
  ]);
});

it("has a hint and one section of the settings page for every key", () => {
  const keys = Object.keys((manifest["configSchema"] as { properties: object }).properties);
  expect(Object.keys(manifest["uiHints"] as object)).toEqual(keys);
  const groups = manifest["configGroups"] as { properties: string[] }[];
  expect(groups.flatMap(({ properties }) => properties).toSorted()).toEqual(keys.toSorted());
});

it("has the same id in the manifest and in the entry, and names an entry that the build makes", () => {
  const { openclaw, files } = read("package.json") as {
    openclaw: { extensions: string[]; runtimeExtensions: string[]; compat: { pluginApi: string } };
    files: string[];
  };
  expect(read("openclaw.plugin.json")).toMatchObject({ id: plugin.id, name: plugin.name });
  expect(openclaw.runtimeExtensions).toEqual(openclaw.extensions);
  expect(openclaw.compat.pluginApi).toBe(`>=${OLDEST_HOST}`);
  expect(files).toContain("openclaw.plugin.json");
  for (const entry of openclaw.extensions) {
    const source = entry.replace(/^\.\/dist\//, "src/").replace(/\.js$/, ".ts");
    expect(existsSync(join(root, source))).toBe(true);
  }
});
