import { describe, expect, it } from "vitest";
import { read, refusalsOf } from "../hooks-context.ts";

const OPENED = { id: "opened", messageTemplate: "m", sessionMode: "persistent", sessionKey: "hook:pr" };
const CI = { id: "ci", match: { path: "ci" }, messageTemplate: "m" };
const WAIT = { hook: "ci", withinSeconds: 60 };
const of = (wait: object, changes: object = {}) => ({
  mappings: [{ ...OPENED, match: { path: "opened" }, respond: { wait: { ...WAIT, ...wait } }, ...changes }, CI],
});
const AT = "hooks.mappings[0].respond.wait";

describe("the wait that an event makes", () => {
  it.each([
    [of({ hook: "nowhere" }), `${AT}: In the event: there is no mapping "nowhere"`],
    [of({ hook: undefined, sender: "github" }), `${AT}: In the event: no mapping has the preset "github"`],
    [of({ hook: undefined }), `${AT}: It waits for nothing: name a hook or a sender`],
    [of({ sender: "github" }), `${AT}: In the event: name either a hook or a sender`],
    [of({ none: [{ hook: "ci" }] }), `${AT}: none and quietSeconds go together: none of these for so long`],
    [
      of({ withinSeconds: 8_000_000 }),
      `${AT}.withinSeconds: must not be longer than the 90 days of hooks.waits.maxDays`,
    ],
    [of({ note: "{{a" }), `${AT}: the placeholder "{{a" is not closed; end it with }}`],
    [
      of({ correlation: { path: "id", equals: "{{id" } }),
      `${AT}: the placeholder "{{id" is not closed; end it with }}`,
    ],
    [
      of({}, { forEach: "items" }),
      `${AT}: cannot be used together with forEach, which makes several runs of one call; leave one of them out`,
    ],
    [
      of({}, { coalesce: { windowSeconds: 10 } }),
      `${AT}: cannot be used together with coalesce, which makes one run of several calls; leave one of them out`,
    ],
    [of({}, { overlap: "skip" }), `${AT}: cannot be used together with overlap: "skip"; leave one of them out`],
  ])("refuses %j", (hooks, line) => {
    expect(refusalsOf(hooks)).toEqual([line]);
  });

  it("refuses a condition that is none", () => {
    expect(refusalsOf(of({ when: "payload." }))).toEqual([
      expect.stringMatching(/respond\.wait: In the event: when is not/u),
    ]);
  });

  it("warns where the session would remember nothing, and not where no run begins", () => {
    const isolated = { sessionMode: "isolated" };
    expect(read(of({}, isolated)).warnings).toEqual([
      `${AT}: resumes a session that remembers nothing of the run before; set sessionMode: "persistent" to continue its conversation`,
    ]);
    expect(read(of({ run: false }, isolated)).warnings).toEqual([]);
    expect(read(of({})).warnings).toEqual([]);
  });

  it("leaves the answer as it is where it names no answer", () => {
    const [plain] = read(of({})).config.mappings;
    expect(plain!.respond).toEqual({ kind: "ordinary" });
    const [own] = read(of({}, { respond: { status: 201, wait: WAIT } })).config.mappings;
    expect(own!.respond).toMatchObject({ kind: "content", status: 201 });
    expect(own!.wait).toMatchObject({ run: true, condition: { all: [{ hook: "ci" }] } });
  });
});
