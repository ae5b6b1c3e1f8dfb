import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Action } from "../../../../src/core/delivery.ts";
import { isRefusal } from "../../../../src/core/errors.ts";
import type { ActiveConfig } from "../../../../src/ingress/active-config.ts";
import { createIngressHooks } from "../../../../src/ingress/hooks.ts";
import { render } from "../../../../src/ingress/stages/render.ts";
import type { Route } from "../../../../src/ingress/stages/resolve.ts";
import { TransformError } from "../../../../src/transform/call.ts";
import type { TransformContext } from "../../../../src/transform/context.ts";
import { mappingOf, requestWith } from "../../mapping/mappings.ts";
import type { AnyTransform } from "../../mapping/mappings.ts";
import { StageBench } from "./stage-bench.ts";

const REQUEST = { method: "POST", body: Buffer.from("raw bytes") };
const TWO = { repo: "site", items: [{ id: 1 }, { id: 2 }] };

describe("render", () => {
  let bench: StageBench;
  let active: ActiveConfig;

  beforeAll(async () => {
    bench = await StageBench.open();
    active = await bench.active({ maxFanOut: 3 });
  });
  beforeEach(() => {
    active = { ...active, hooks: createIngressHooks() };
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  const of = (route: Route, payload: unknown, changes?: Parameters<typeof requestWith>[1]) =>
    render(bench.ingress, active, REQUEST, {
      route,
      context: requestWith(payload, changes),
      ofSender: false,
      deliveryId: "evt_1",
    });

  /** Texts and messages of the actions, and why there are none. */
  async function contentOf(route: Route, payload: unknown): Promise<unknown> {
    const rendered = await of(route, payload);
    if (isRefusal(rendered)) return rendered.refused;
    const contents = rendered.actions.map((action) => (action.kind === "wake" ? action.text : action.message));
    return rendered.ended === undefined ? contents : { contents, ended: rendered.ended };
  }

  const transforming = (transform: AnyTransform, input: Parameters<typeof mappingOf>[0] = {}) =>
    mappingOf({ id: "ci", messageTemplate: "mapped {{repo}}", ...input }, { transform });

  describe("of a fixed endpoint", () => {
    it("spec 4.1: reads a wake payload", async () => {
      expect(await of("wake", { text: "a" })).toEqual({ actions: [{ kind: "wake", text: "a", mode: "now" }] });
      expect(await contentOf("wake", {})).toBe("INVALID_PAYLOAD");
    });

    it("spec 4.2: reads an agent payload", async () => {
      expect(await contentOf("agent", { message: "a" })).toEqual(["a"]);
      expect(await contentOf("agent", [])).toBe("INVALID_PAYLOAD");
    });
  });

  describe("of a mapping", () => {
    it("spec 4.3: converts an arbitrary payload into an action by its templates", async () => {
      expect(await contentOf(mappingOf({ messageTemplate: "{{repo}} changed" }), TWO)).toEqual(["site changed"]);
      expect(await contentOf(mappingOf({ action: "wake", textTemplate: "{{repo}}!" }), TWO)).toEqual(["site!"]);
    });

    it("refuses what came out blank", async () => {
      expect(await of(mappingOf({ id: "ci", messageTemplate: "{{gone}}" }), TWO)).toMatchObject({
        refused: "INVALID_ACTION",
        message: 'The mapping "ci" requires a message, and it came out blank for this payload.',
      });
    });

    it("with forEach makes an action of each item, in order", async () => {
      const mapping = mappingOf({ messageTemplate: "{{items[0].id}}", forEach: "items" });
      expect(await contentOf(mapping, TWO)).toEqual(["1", "2"]);
      expect(await contentOf(mapping, { items: [{ id: 3 }] })).toEqual(["3"]);
    });

    it("with forEach skips a request without items, and says why", async () => {
      const mapping = mappingOf({ messageTemplate: "m", forEach: "items" });
      expect(await contentOf(mapping, { items: [] })).toEqual({
        contents: [],
        ended: { state: "skipped", reason: "payload.items is empty" },
      });
    });

    it("with forEach refuses more items than hooks.maxFanOut, and skips what is no list", async () => {
      const mapping = mappingOf({ messageTemplate: "m", forEach: "items" });
      expect(await contentOf(mapping, { items: [1, 2, 3] })).toEqual(["m", "m", "m"]);
      expect(await contentOf(mapping, { items: [1, 2, 3, 4] })).toBe("BODY_TOO_LARGE");
      expect(await contentOf(mapping, { items: "1" })).toEqual({
        contents: [],
        ended: { state: "skipped", reason: "payload.items must be an array." },
      });
    });

    it("with forEach refuses the whole request when one item comes out blank: nothing is half accepted", async () => {
      const mapping = mappingOf({ messageTemplate: "{{items[0].id}}", forEach: "items" });
      expect(await contentOf(mapping, { items: [{ id: 1 }, {}] })).toBe("INVALID_ACTION");
    });
  });

  describe("of a mapping with a transform", () => {
    it("spec 4.3: lays the transform's result over the mapping's action", async () => {
      expect(
        await contentOf(
          transforming(() => ({ message: "new" })),
          TWO,
        ),
      ).toEqual(["new"]);
      expect(
        await contentOf(
          transforming(async () => ({ kind: "wake", text: "woken" })),
          TWO,
        ),
      ).toEqual(["woken"]);
      expect(
        await contentOf(
          transforming(() => undefined),
          TWO,
        ),
      ).toEqual(["mapped site"]);
    });

    it("lets the transform fill what the templates left blank, and refuses what it left blank too", async () => {
      const blank = { messageTemplate: "" };
      expect(
        await contentOf(
          transforming(() => ({ message: "filled" }), blank),
          TWO,
        ),
      ).toEqual(["filled"]);
      expect(
        await contentOf(
          transforming(() => ({}), blank),
          TWO,
        ),
      ).toBe("INVALID_ACTION");
      expect(
        await contentOf(
          transforming(() => ({ message: " " })),
          TWO,
        ),
      ).toBe("INVALID_ACTION");
    });

    it("gives the transform payload, headers, path and URL", async () => {
      const given: TransformContext[] = [];
      const mapping = transforming((context) => void given.push(context));
      await of(mapping, TWO, { path: "ci/push", headers: { "x-event": "push" }, query: { a: "1 2" } });
      expect(given).toHaveLength(1);
      expect(given[0]).toMatchObject({ payload: TWO, headers: { "x-event": "push" }, path: "ci/push" });
      expect(given[0]?.url.href).toBe("http://localhost/hooks/ci/push?a=1+2");
    });

    it("skips the request when the transform returns null", async () => {
      const skipped = { contents: [], ended: { state: "skipped", reason: "the transform returned null" } };
      expect(
        await contentOf(
          transforming(() => null),
          TWO,
        ),
      ).toEqual(skipped);
      expect(
        await contentOf(
          transforming(() => Promise.resolve(null)),
          TWO,
        ),
      ).toEqual(skipped);
    });

    it("asks the transform for each item of forEach, and skips only those that it drops", async () => {
      const seen: unknown[] = [];
      const mapping = transforming(
        ({ payload }) => {
          const [item] = (payload as typeof TWO).items;
          seen.push(item?.id);
          return item?.id === 1 ? null : { message: `item ${item?.id}` };
        },
        { forEach: "items" },
      );
      expect(await contentOf(mapping, TWO)).toEqual(["item 2"]);
      expect(seen).toEqual([1, 2]);
      expect(await contentOf(mapping, { items: [{ id: 1 }] })).toEqual({
        contents: [],
        ended: { state: "skipped", reason: "the transform returned null" },
      });
    });

    it("gives the transform the exact bytes, the method, the sender's id for the delivery and the time", async () => {
      const given: TransformContext[] = [];
      const event = { event: "push", actor: { name: "ada", bot: false } };
      await of(
        transforming((context) => void given.push(context)),
        TWO,
        event,
      );
      const [context] = given;
      expect(context).toMatchObject({ method: "POST", deliveryId: "evt_1", ...event });
      expect(Buffer.from(context?.rawBody ?? []).toString()).toBe("raw bytes");
      expect(context?.time.toISOString()).toBe("2026-02-03T04:05:06.007Z");
    });

    it("makes an action of each object of an array, and none of its nulls", async () => {
      const mapping = transforming(() => [{ message: "one" }, null, { kind: "wake", text: "two" }]);
      expect(await contentOf(mapping, TWO)).toEqual(["one", "two"]);
    });

    it("skips the request when the array is empty", async () => {
      expect(
        await contentOf(
          transforming(() => []),
          TWO,
        ),
      ).toMatchObject({ contents: [], ended: { state: "skipped" } });
    });

    const one = { message: "a" };
    it.each([
      [
        "arrays alone",
        [
          [one, one],
          [one, one],
        ],
      ],
      ["objects after an array", [[one, one, one], one]],
      ["an array after objects", [one, [one, one, one]]],
      ["the mapping's own actions", [undefined, [one, one, one]]],
    ])("fails when all items together make more actions than hooks.maxFanOut: %s", async (_, results) => {
      const left = [...results];
      const mapping = transforming(() => left.shift(), { forEach: "items" });
      const reason =
        "The transform ci failed: it returned more than 3 actions for the items of one call; hooks.maxFanOut allows no more.";
      expect(await of(mapping, TWO)).toMatchObject({ actions: [], ended: { state: "failed", reason } });
    });

    it.each([
      [[[one, one, one], []]],
      [[[], [one, one, one]]],
      [[[one, one, one], null]],
      [[[one, null, one, null], one]],
      [[[null, null, null, null], one]],
    ])("makes as many actions as hooks.maxFanOut, whatever the order of the items: %#", async (results) => {
      const left: unknown[] = [...results];
      const mapping = transforming(() => left.shift(), { forEach: "items" });
      expect(await of(mapping, TWO)).not.toHaveProperty("ended");
    });

    it("is not moved by what the transform does to the payload", async () => {
      const mapping = transforming(({ payload }) => void Object.assign(payload as object, { repo: "changed" }));
      expect(await contentOf(mapping, structuredClone(TWO))).toEqual(["mapped site"]);
    });

    it("records a transform that fails, with its reason, and refuses the request without it", async () => {
      const lines = bench.logged.length;
      const fail = (): never => {
        throw new Error("secret detail");
      };
      const mapping = mappingOf(
        { id: "ci", messageTemplate: "m", transform: { module: "ci.ts" } },
        { transform: fail },
      );
      const reason = "The transform ci.ts failed: it threw Error: secret detail.";
      expect(await of(mapping, { token: "payload-secret" })).toEqual({
        actions: [],
        ended: { state: "failed", reason },
        failure: { refused: "TRANSFORM_FAILED", message: undefined, retryAfterSeconds: undefined },
      });
      const [line, ...more] = bench.logged.slice(lines);
      expect(more).toEqual([]);
      expect(line).toMatchObject({ level: "error", message: "a transform failed" });
      expect(line?.fields).toEqual({ mapping: "ci", module: "ci.ts", reason });
    });

    it("records a transform that returns no action", async () => {
      expect(
        await of(
          transforming(() => "text"),
          TWO,
        ),
      ).toMatchObject({
        ended: {
          state: "failed",
          reason: "The transform ci failed: it has to return an object, an array of objects, null or undefined.",
        },
      });
    });

    it("fails when the items of a call together take too long", async () => {
      vi.spyOn(performance, "now").mockReturnValueOnce(0).mockReturnValueOnce(20_000).mockReturnValue(20_001);
      const mapping = transforming(() => ({ message: "a" }), { forEach: "items" });
      expect(await of(mapping, TWO)).toMatchObject({
        ended: {
          state: "failed",
          reason:
            "The transform ci failed: it took longer than 10 times hooks.transforms.timeoutMs for the items of one call.",
        },
      });
    });

    it("records a result that throws when it is inspected", async () => {
      const result = {
        get message(): string {
          throw new Error("no such luck");
        },
      };
      expect(
        await of(
          transforming(() => result),
          TWO,
        ),
      ).toMatchObject({
        ended: { reason: "The transform ci failed: it returned something that throws when it is looked at." },
      });
    });

    it("records nothing of a transform that could not be begun, and asks the caller to come back", async () => {
      const busy = (): never => {
        throw new TransformError("busy", "has 256 calls waiting");
      };
      expect(await of(transforming(busy), TWO)).toEqual({
        refused: "BUSY",
        message: "The transforms of this gateway are busy; try again shortly.",
        retryAfterSeconds: 2,
      });
    });

    it("does not ask plugins about a transform that failed", async () => {
      active.hooks.actions.tap("plugin", () => [{ kind: "wake", text: "after all", mode: "now" }]);
      expect(
        await of(
          transforming(() => 7),
          TWO,
        ),
      ).toMatchObject({ actions: [], ended: { state: "failed" } });
    });
  });

  describe("with a plugin on `actions`", () => {
    const wake = (text: string): Action => ({ kind: "wake", text, mode: "now" });

    it("takes the actions as the plugin changed them, for every kind of route", async () => {
      active.hooks.actions.tapPromise("plugin", async (actions, { path }) => [...actions, wake(`seen ${path}`)]);
      expect(await contentOf("wake", { text: "a" })).toEqual(["a", "seen hook"]);
      expect(await contentOf(mappingOf({ messageTemplate: "m" }), TWO)).toEqual(["m", "seen hook"]);
    });

    it("skips the request when the plugin leaves none, and says so", async () => {
      active.hooks.actions.tap("plugin", () => []);
      expect(await contentOf("wake", { text: "a" })).toEqual({
        contents: [],
        ended: { state: "skipped", reason: "a plugin left no action" },
      });
    });

    it("keeps the reason of a request that was skipped before", async () => {
      active.hooks.actions.tap("plugin", (actions) => actions);
      expect(
        await contentOf(
          transforming(() => null),
          TWO,
        ),
      ).toMatchObject({ ended: { state: "skipped", reason: "the transform returned null" } });
    });

    it("no longer skips a request that the plugin gives an action", async () => {
      active.hooks.actions.tap("plugin", () => [wake("after all")]);
      expect(
        await of(
          transforming(() => null),
          TWO,
        ),
      ).toEqual({ actions: [wake("after all")] });
    });

    it("does not ask the plugin about a request that is refused", async () => {
      let asked = 0;
      active.hooks.actions.tap("plugin", (actions) => {
        asked++;
        return actions;
      });
      expect(await contentOf("wake", {})).toBe("INVALID_PAYLOAD");
      expect(asked).toBe(0);
    });

    it("fails the request when the plugin fails, naming it", async () => {
      active.hooks.actions.tap("plugin", () => {
        throw new Error("broken");
      });
      await expect(of("wake", { text: "a" })).rejects.toThrow('Hook "actions", tap "plugin": broken');
    });
  });
});
