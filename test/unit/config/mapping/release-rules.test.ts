import { describe, expect, it } from "vitest";
import { github } from "../../../../src/presets/senders/github/github.ts";
import { postmarkInbound } from "../../../../src/presets/senders/postmark-inbound.ts";
import { context, GOOD_SECRET, PRESETS, read, refusalsOf } from "../hooks-context.ts";

const presets = new Map([...PRESETS, ["github", github], [postmarkInbound.name, postmarkInbound]]);
const around = context({ presets });
const hook = { preset: "github", secret: GOOD_SECRET, minLevel: "trusted" };
const release = { on: ["issues.labeled"] };
const refuse = (changes: object): string =>
  refusalsOf({ mappings: [{ ...hook, release, ...changes }] }, around).join("\n");

describe("release of a mapping", () => {
  it("is read, and trusts no less than the trusted where it does not say", () => {
    const mapping = { ...hook, release: { on: [" issues.labeled "], object: "{{issue.id}}" } };
    expect(read({ mappings: [mapping] }, around).config.mappings[0]!.release).toEqual({
      on: ["issues.labeled"],
      when: undefined,
      by: "trusted",
      object: "{{issue.id}}",
      text: undefined,
    });
  });

  it("is read in the block of a preset", () => {
    const block = { secret: GOOD_SECRET, minLevel: "trusted", release };
    expect(read({ presets: ["github"], github: block }, around).config.mappings[0]!.release?.on).toEqual([
      "issues.labeled",
    ]);
  });

  it.each([
    [{ minLevel: undefined }, "hooks.mappings[0].release: has nothing to release: write minLevel"],
    [{ below: "filter" }, "release: has nothing to release"],
    [{ release: { on: [] } }, "release.on: is empty"],
    [{ release: { ...release, by: "known" } }, "release.by: "],
    [{ release: { ...release, when: "payload.(" } }, "hooks.mappings[0].release.when: "],
    [{ release: { ...release, object: "all" } }, "release.object: is the same for every event"],
    [{ release: { ...release, object: "{{}}" } }, "release.object: is the same for every event"],
    [
      { release: { ...release, object: "{{repository.id}}/{{issue.number}" } },
      'release.object: the placeholder "{{issue.number}" is not closed',
    ],
    [
      { release: { ...release, object: "{{issue.id}}", text: "{{issue.title}}{{issue.body" } },
      'release.text: the placeholder "{{issue.body" is not closed',
    ],
    [
      { release: { ...release, object: "{{headers.x-id}}" } },
      "release.object: reads what the signature does not cover",
    ],
    [
      { release: { ...release, object: "{{issue.id}}", text: "{{ query.t }}" } },
      "release.text: reads what the signature",
    ],
    [
      { preset: undefined, secret: undefined, match: { path: "x" }, messageTemplate: "m" },
      "release: has no effect without preset",
    ],
    [{ auth: { scheme: "token" }, secret: undefined }, "release: needs a sender that signs the body"],
    [
      { preset: postmarkInbound.name },
      "release: cannot be used: the preset postmark-inbound does not authenticate who acted",
    ],
  ])("%j is refused", (changes, message) => {
    expect(refuse(changes)).toContain(message);
  });
});
