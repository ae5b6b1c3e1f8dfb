import { describe, expect, it } from "vitest";
import { presetOf, context, GOOD_SECRET, PRESETS, read, refusalsOf } from "../hooks-context.ts";

const agent = { messageTemplate: "m" };
const wake = { action: "wake", textTemplate: "t" };
const window = { windowSeconds: 10 };
const refuse = (mapping: object): string[] => refusalsOf({ mappings: [mapping] });
const warningsOf = (mapping: object): readonly string[] => read({ mappings: [mapping] }).warnings;

describe("what a mapping says of its runs", () => {
  it.each([
    [
      { ...agent, when: "payload.a = 1" },
      'hooks.mappings[0].when: is not a CEL expression: "= 1" is not expected at line 1, column 11',
    ],
    [
      { ...agent, when: "nobody.a" },
      'hooks.mappings[0].when: "nobody" is not known; known are payload, headers, query, event, actor',
    ],
    [
      { ...agent, events: ["push"] },
      "hooks.mappings[0].events: has no effect without preset, which knows the sender; leave it out",
    ],
    [
      { ...agent, coalesce: window, forEach: "items" },
      "hooks.mappings[0].coalesce: cannot be used together with forEach, which makes several runs of one call",
    ],
    [
      { ...agent, coalesce: window, overlap: "latest" },
      'hooks.mappings[0].coalesce: cannot be used together with overlap: "latest"; leave one of them out',
    ],
    [
      { ...agent, coalesce: { ...window, maxWaitSeconds: 9 } },
      "hooks.mappings[0].coalesce.maxWaitSeconds: must not be less than windowSeconds",
    ],
    [
      { ...agent, coalesce: window, maxAgeSeconds: 100 },
      "hooks.mappings[0].maxAgeSeconds: must be more than the 100 seconds that coalesce may delay a run, or none would begin",
    ],
    [
      { ...wake, respond: "result" },
      'hooks.mappings[0].respond: cannot be "result" with the action wake, which has none',
    ],
    [{ ...wake, mode: "deliver" }, "hooks.mappings[0].mode: cannot be deliver with the action wake"],
    [{ ...agent, mode: "deliver", deliver: false }, "hooks.mappings[0].mode: cannot be deliver while deliver is false"],
    [
      { ...agent, fallback: { channel: "telegrm" } },
      'hooks.mappings[0].fallback.channel: "telegrm" is not a channel of this gateway; known are last, console, telegram',
    ],
    [
      { ...agent, retry: { backoffSeconds: 10, maxBackoffSeconds: 5 } },
      "hooks.mappings[0].retry.maxBackoffSeconds: must not be less than backoffSeconds, which is 10",
    ],
    [
      { ...agent, retry: { delivery: { maxBackoffSeconds: 1 } } },
      "hooks.mappings[0].retry.delivery.maxBackoffSeconds: must not be less than backoffSeconds, which is 2",
    ],
    [
      { ...agent, respond: { status: 204, body: "ok" } },
      "hooks.mappings[0].respond.body: an answer with the status 204 has no content; leave one of them out",
    ],
  ])("refuses %j", (mapping, line) => {
    expect(refuse(mapping)).toEqual([line]);
  });

  it.each([
    { ...agent, coalesce: window, transform: { module: "a.js" } },
    { ...wake, coalesce: { key: "{{a}}", windowSeconds: 1, mode: "list" } },
    { ...agent, coalesce: window, maxAgeSeconds: 101 },
    { ...agent, mode: "deliver", fallback: { channel: "LAST" } },
    { ...agent, respond: "result", waitSeconds: 5 },
    { ...agent, when: "payload.a == 1 && sender.name != ''" },
    { ...agent, overlap: "skip", order: "none", priority: "low", concurrency: 2, budget: { perHour: 5, perDay: 5 } },
    { ...wake, order: "none", transform: { module: "a.js" } },
  ])("has nothing against %j", (mapping) => {
    expect(refuse(mapping)).toEqual([]);
    expect(warningsOf(mapping)).toEqual([]);
  });

  it.each([
    [{ ...wake, order: "strict" }, "order: has no effect with the action wake"],
    [{ ...wake, overlap: "skip" }, "overlap: has no effect with the action wake"],
    [{ ...wake, priority: "high" }, "priority: has no effect with the action wake"],
    [{ ...wake, concurrency: 1 }, "concurrency: has no effect with the action wake"],
    [{ ...wake, fallback: { channel: "console" } }, "fallback: has no effect with the action wake"],
    [{ ...agent, waitSeconds: 5 }, 'waitSeconds: has no effect without respond: "result"'],
    [{ ...agent, mode: "deliver", model: "m" }, "model: has no effect with mode: deliver, which runs no agent"],
    [
      { ...agent, mode: "deliver", timeoutSeconds: 5 },
      "timeoutSeconds: has no effect with mode: deliver, which runs no agent",
    ],
    [{ ...agent, deliver: false, fallback: { channel: "x" } }, "fallback: has no effect while deliver is false"],
    [{ ...agent, budget: { perHour: 6, perDay: 5 } }, "budget.perHour: has no effect: perDay is less"],
  ])("warns of %j", (mapping, line) => {
    expect(refuse(mapping)).toEqual([]);
    expect(warningsOf(mapping)).toEqual([`hooks.mappings[0].${line}`]);
  });

  it("is judged in the block of a preset as well, and where a preset brings it", () => {
    const github = { secret: GOOD_SECRET, when: "nobody", events: ["push"] };
    const line = 'hooks.github.when: "nobody" is not known; known are payload, headers, query, event, actor';
    expect(refusalsOf({ presets: ["github"], github })).toEqual([line]);
    const acme = presetOf({
      name: "acme",
      title: "Acme",
      event: "body:type",
      auth: { from: "header:x-signature" },
      secret: { label: "Secret", madeBy: "owner" },
      mapping: {
        coalesce: { key: "", windowMs: 1_000, maxWaitMs: 10_000, mode: "list" },
        events: ["a.*"],
        order: "none",
      },
    });
    const around = context({ presets: new Map([...PRESETS, ["acme", acme]]) });
    const block = { presets: ["acme"], acme: { secret: GOOD_SECRET } };
    expect(read(block, around).config.mappings[0]).toMatchObject({
      coalesce: { windowMs: 1_000, mode: "list" },
      events: ["a.*"],
      order: "none",
    });
    expect(read(block, around).warnings).toEqual([]);
    expect(refusalsOf({ ...block, acme: { ...block.acme, overlap: "skip" } }, around)).toEqual([
      'hooks.acme.coalesce: cannot be used together with overlap: "skip"; leave one of them out',
    ]);
  });

  it("refuses events of a preset that has no names for them", () => {
    const line = "events: would take nothing: the preset gmail has no names for its events; use when";
    expect(refuse({ preset: "gmail", events: ["new"] })).toEqual([`hooks.mappings[0].${line}`]);
    const nameless = "events: would take nothing: the preset notion has no names for its events; use when";
    expect(refusalsOf({ presets: ["notion"], notion: { events: ["new"] } })).toEqual([`hooks.notion.${nameless}`]);
    expect(refuse({ preset: "github", secret: GOOD_SECRET, events: ["push"] })).toEqual([]);
  });

  it("refuses notices to a channel that the gateway does not have, once hooks are on", () => {
    const notices = { channel: "telegrm" };
    expect(refusalsOf({ notices })).toEqual([
      'hooks.notices.channel: "telegrm" is not a channel of this gateway; known are last, console, telegram',
    ]);
    expect(refusalsOf({ notices, enabled: false })).toEqual([]);
  });

  it("warns of a budget of the hooks whose hour is more than its day", () => {
    expect(read({ budget: { perHour: 2, perDay: 1 } }).warnings).toEqual([
      "hooks.budget.perHour: has no effect: perDay is less",
    ]);
  });
});
