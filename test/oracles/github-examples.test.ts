import { createRequire } from "node:module";
import type { WebhookDefinition } from "@octokit/webhooks-examples";
import { describe, expect, it } from "vitest";
import { github } from "../../src/presets/senders/github/github.ts";
import { readSample } from "../../src/testing/preset-probe.ts";
import type { Reading } from "../../src/testing/preset-probe.ts";

// The package is one JSON file that its types describe as the default export of a module.
const definitions = createRequire(import.meta.url)("@octokit/webhooks-examples") as readonly WebhookDefinition[];

type Example = WebhookDefinition["examples"][number] & {
  readonly action?: string;
  readonly sender?: { readonly login: string };
  readonly repository?: { readonly full_name: string; readonly name: string };
};

function read(event: string, payload: object): Reading {
  return readSample(github, { headers: { "x-github-event": event, "x-github-delivery": "d1" }, payload });
}

/** Every text of a payload, the longest first, so that a part is never taken for the whole. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value)
    .flatMap(textsIn)
    .toSorted((a, b) => b.length - a.length);
}

/** The message with `T` in the place of each text of the payload: the words that are ours. */
function ownWords(message: string, payload: object): string {
  const bodies = new Set(textsIn(payload).map((text) => text.replaceAll("\r\n", "\n").trim()));
  let words = message;
  for (const text of bodies) {
    if (text.length < 3 || /^[a-z]+$/.test(text)) continue;
    words = words.replaceAll(text, "T");
  }
  return words;
}

function expectNoEmptyField(message: string): void {
  expect(message).not.toBe("");
  expect(message).not.toMatch(/undefined|\bnull\b|\[object|\bNaN\b|\(\s*\)|""/);
  for (const line of message.split("\n")) {
    expect(line).toBe(line.trim());
    expect(line).not.toBe("");
    expect(line).not.toMatch(/ {2}|[:,-]$|\b(?:by|in|of|to|from|on|was|as)$/);
    expect(line).not.toMatch(/\b(?:by|of|in|to|from|on) (?:by|of|in|to|from|on)\b|#(?:\s|$|T)/);
  }
}

describe.each(definitions.map(({ name, examples }) => [name, examples as readonly Example[]] as const))(
  "the published examples of %s",
  (name, examples) => {
    it.each(examples.map((example, at) => [at + 1, example] as const))(
      "render example %i without an empty field",
      (_, example) => {
        expectNoEmptyField(ownWords(read(name, example).message, example));
      },
    );

    it("say who caused the event, or in which repository", () => {
      for (const example of examples) {
        const known = [example.sender?.login, example.repository?.full_name].filter((text) => text !== undefined);
        const { message } = read(name, example);
        if (known.length > 0) expect(known.filter((text) => message.includes(text))).not.toEqual([]);
      }
    });

    it("are named for the event and its action", () => {
      for (const example of examples) {
        const event = example.action === undefined ? name : `${name}.${example.action}`;
        expect(read(name, example)).toMatchObject({ event, deliveryId: "d1" });
        expect(read(name, example).skip === undefined).toBe(name !== "ping");
      }
    });

    it("have the actor that the payload names, flagged as a bot where the payload says so", () => {
      for (const example of examples) {
        const sender = example.sender as { login: string; type: string } | undefined;
        const bot = sender?.type === "Bot";
        if (sender !== undefined) expect(read(name, example).sender).toMatchObject({ name: sender.login, bot });
      }
    });
  },
);

it("has the examples of more than fifty events", () => {
  expect(definitions.length).toBeGreaterThan(50);
});
