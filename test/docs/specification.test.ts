import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readDocPage } from "./doc-blocks.ts";
import { tableRows } from "./table-rows.ts";

const docs = join(import.meta.dirname, "../../docs/extend");
const sections = new Map(
  readDocPage("docs/extend/specification.md")
    .text.split("\n## ")
    .slice(1)
    .map((text) => [text.split(" ", 1).join(""), tableRows(text)]),
);

/** What each section of the specification names; every one of these has a row. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  "1": ["hooks.enabled", "wake", "agent", "<name>", "token", "untrusted", "advice"],
  "2.1": [
    "hooks.enabled",
    "hooks.token",
    "hooks.path",
    "hooks.allowedAgentIds",
    "hooks.defaultSessionKey",
    "hooks.allowRequestSessionKey",
    "hooks.allowedSessionKeyPrefixes",
    "hooks.presets",
    "hooks.mappings",
    "hooks.transformsDir",
    "agents.defaults.models",
    "match.source",
    "transform.module",
    "allowUnsafeExternalContent",
  ],
  "2.2": ["text", "mode"],
  "2.3": [
    "message",
    "name",
    "agentId",
    "sessionKey",
    "wakeMode",
    "deliver",
    "channel",
    "to",
    "model",
    "thinking",
    "timeoutSeconds",
  ],
  "3": ["left open"],
  "4": ["POST", "application/json", "hooks.path"],
  "4.1": ["wake payload", "200", "system event", "response body"],
  "4.2": ["202", "session key", "summary", "deliver", "key rule 1", "key rule 2", "key rule 3", "agentId", "[]", "*"],
  "4.3": ["presets", "templates", "traversal", "TypeScript", "match.source", "response body"],
  "5": ["1:", "2:", "3:", "4:", "5:", "6:"],
  "6": ["wake", "agent", "now", "next-heartbeat", "deliver", "callbacks"],
  "7": ["400: invalid", "400: token", "401", "413", "429", "model", "session key", "error bodies"],
  "8": ["413", "Retry-After", "timeoutSeconds"],
  "9": ["off by default", "compatibility", "versions"],
};

describe("docs/extend/specification.md", () => {
  it("has every section of the specification", () => {
    expect([...sections.keys()]).toEqual(
      Object.keys(NAMED).toSorted((one, other) => one.localeCompare(other, "en", { numeric: true })),
    );
  });

  it.each(Object.keys(NAMED))("has a row for everything that section %s names", (section) => {
    const says = sections.get(section)!.map(([text]) => text!);
    for (const name of NAMED[section]!)
      expect(says, `${section}: ${name}`).toContainEqual(expect.stringContaining(name));
  });

  it.each([...sections])(
    "names tests of section %s that are there, under the section's own number",
    (section, rows) => {
      for (const [, title = "", link = ""] of rows) {
        const file = /\]\((.+)\)$/.exec(link)?.[1] ?? "";
        const source = readFileSync(join(docs, file), "utf8");
        expect(source, `${file}: ${title}`).toContain(`"${title}"`);
        expect(title).toMatch(new RegExp(`^spec ${section.replace(".", "\\.")}${section === "5" ? "\\.[1-6]" : ""}: `));
      }
    },
  );

  it("names no test twice", () => {
    const named = [...sections.values()].flat().map(([, title, link]) => `${link} ${title}`);
    expect(new Set(named).size).toBe(named.length);
  });
});
