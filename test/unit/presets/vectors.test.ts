import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { parsePayload } from "../../../src/http/parse-payload.ts";
import { BUILT_IN_PRESETS } from "../../../src/presets/built-in.ts";
import { readPayload } from "../../../src/testing/preset-probe.ts";
import { answerHandshake } from "./answer-handshake.ts";
import { accepts, callOfVector, optionsOfVector, readVectors } from "./vector.ts";
import type { Vector } from "./vector.ts";

const root = join(import.meta.dirname, "../../..");

const files = globSync("test/fixtures/vectors/*.json", { cwd: root })
  .toSorted()
  .map((path) => ({ file: basename(path, ".json"), ...readVectors(readFileSync(join(root, path), "utf8")) }));

/** What `npm run oracles` installs. */
const { packages: installed } = JSON.parse(readFileSync(join(root, "test/oracles/package-lock.json"), "utf8")) as {
  packages: Readonly<Record<string, { readonly version?: string; readonly devDependencies?: Record<string, string> }>>;
};
/** Packages of the oracles that judge no request. */
const OTHERS = [
  "@modelcontextprotocol/client",
  "@noble/curves",
  "@octokit/webhooks-examples",
  "@sinclair/typebox",
  "@types/sns-validator",
];

describe.each(files)("the vectors of $file, as $sdk.name judged them,", ({ preset: name, sdk, fetched, vectors }) => {
  const preset = BUILT_IN_PRESETS.find((each) => each.name === name)!;
  const named = (wanted: (vector: Vector) => boolean) =>
    vectors.filter(wanted).map((vector) => [vector.name, vector] as const);

  it.each(named((vector) => vector.sdk !== undefined))("get the same verdict again: %s", async (_, vector) => {
    expect(await accepts(preset, vector, fetched)).toBe(vector.reveille ?? vector.sdk);
  });

  it.each(named((vector) => vector.answer !== undefined))("are answered alike: %s", async (_, vector) => {
    const ours = await answerHandshake(preset, callOfVector(vector), optionsOfVector(vector));
    expect(JSON.parse(ours!.answer.payload)).toEqual(vector.answer);
  });

  it.each(named((vector) => vector.reads !== undefined))("are read alike: %s", (_, vector) => {
    const { headers } = vector;
    const parsed = parsePayload(callOfVector(vector).body, headers["content-type"], { accept: ["json", "text"] });
    if (!parsed.ok) throw new Error(parsed.detail);
    const { payload } = parsed;
    const { event, deliveryId } = readPayload(preset, payload, { sample: { headers, payload } });
    expect({ event, deliveryId }).toEqual(vector.reads);
  });

  it("have names of their own", () => {
    expect(new Set(vectors.map((vector) => vector.name)).size).toBe(vectors.length);
  });

  it("are of the library's version that `npm run oracles` installs", () => {
    expect(sdk.version).toBe(installed[`node_modules/${sdk.name}`]?.version);
  });
});

it("has vectors of every library that judges", () => {
  const libraries = Object.keys(installed[""]!.devDependencies!).filter((name) => !OTHERS.includes(name));
  expect(new Set(files.map(({ sdk }) => sdk.name))).toEqual(new Set(libraries));
});
