import { describe, expect, it } from "vitest";
import { RetentionSchema } from "../../src/config/retention.ts";
import { RetrySchema } from "../../src/config/retry.ts";
import { HooksSchema } from "../../src/config/hooks.ts";
import { STATES } from "../../src/core/run.ts";
import { MAX_COALESCED_TEXTS, MAX_LISTED_REPEATS } from "../../src/storage/delivery-store.ts";
import { readDocPage } from "./doc-blocks.ts";
import { tableRows } from "./table-rows.ts";

const deliveries = readDocPage("docs/use/deliveries.md").text;
const guarantees = readDocPage("docs/extend/guarantees.md").text;

/** What a key of `hooks` is when no one writes it. */
function defaultOf(key: string): unknown {
  const [, schema] = Object.entries(HooksSchema.properties).find(([name]) => name === key) ?? [];
  return schema !== undefined && "default" in schema ? schema.default : undefined;
}

/** The table under a heading, up to the next heading. */
function tableUnder(text: string, heading: string): string[][] {
  const [, after = ""] = text.split(`\n${heading}\n`);
  return tableRows(after.split("\n## ", 1).join(""));
}

describe("docs/use/deliveries.md", () => {
  it("has every state, in the order in which the code has them", () => {
    const rows = tableRows(deliveries.split("\n## ", 1).join(""));
    expect(rows.map(([state]) => state)).toEqual([...STATES]);
  });

  it("has every key of retention, with its default", () => {
    const { deliveries: kept, payloads } = RetentionSchema.properties;
    expect([kept.default, payloads.default]).toEqual(["30d", "30d"]);
    expect(tableUnder(deliveries, "## How long it is kept").map(([key, , most]) => [key, most])).toEqual([
      ["payloads", "30 days"],
      ["deliveries", "30 days"],
      ["maxBytes", "no bound"],
    ]);
    expect(Object.keys(RetentionSchema.properties)).toHaveLength(3);
  });

  it("has the defaults of retries as they are", () => {
    const [, section = ""] = deliveries.split("\n## When something fails\n");
    const { attempts, backoffSeconds, maxBackoffSeconds, delivery } = RetrySchema.properties;
    const shown = Array.from(section.matchAll(/`(?:retry\.)?(\w+)`[^`(]*\((\d+)\)/g), ([, key, number]) => [
      key,
      Number(number),
    ]);
    expect(Object.fromEntries(shown)).toMatchObject({
      attempts: attempts.default,
      backoffSeconds: backoffSeconds.default,
      maxBackoffSeconds: maxBackoffSeconds.default,
    });
    const of = delivery.properties;
    expect(section).toContain(
      `${of.attempts.default} times in all, with bounds that grow from ${of.backoffSeconds.default} to ${of.maxBackoffSeconds.default} seconds`,
    );
  });
});

describe("docs/extend/guarantees.md", () => {
  const bounds = tableUnder(guarantees, "## Bounds");

  it("has the default bounds of the configuration when none are set", () => {
    const shown = bounds.flatMap(([, bound = ""]) =>
      Array.from(bound.matchAll(/hooks\.(\w+)`? \(([\d,]+)\)/g), ([, key = "", number = ""]) => [
        key,
        Number(number.replaceAll(",", "")),
      ]),
    );
    expect(shown.length).toBeGreaterThan(5);
    for (const [key, number] of shown) expect([key, number]).toEqual([key, defaultOf(String(key))]);
    expect(defaultOf("maxBodyBytes")).toBe(256 * 1024);
  });

  it("has the fixed ones as they are", () => {
    const most = Object.fromEntries(bounds.map(([what = "", bound = ""]) => [what, bound]));
    expect(most["repeats of one delivery that are listed"]).toBe(String(MAX_LISTED_REPEATS));
    expect(most["calls that one coalesced run shows"]).toContain(`${MAX_COALESCED_TEXTS} texts`);
  });
});
