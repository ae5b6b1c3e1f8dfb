import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Action } from "../../../src/delivery.ts";
import { isRefusal } from "../../../src/errors.ts";
import type { Generation } from "../../../src/generation.ts";
import { createIngressHooks } from "../../../src/hooks.ts";
import type { IngressContext } from "../../../src/stages/ingress-context.ts";
import { render } from "../../../src/stages/render.ts";
import type { Route } from "../../../src/stages/resolve.ts";
import type { TransformContext, TransformFunction } from "../../../src/transform/transform.ts";
import { mappingOf, requestWith } from "../mapping/mappings.ts";
import { StageBench } from "./stage-bench.ts";

const TWO = { repo: "site", items: [{ id: 1 }, { id: 2 }] };

describe("render", () => {
  let bench: StageBench;
  let ingress: IngressContext;
  let generation: Generation;

  beforeAll(async () => {
    bench = await StageBench.open();
    generation = await bench.generation({ maxFanOut: 3 });
  });
  beforeEach(() => {
    ingress = { ...bench.ingress, hooks: createIngressHooks() };
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  const of = (route: Route, payload: unknown, changes?: Parameters<typeof requestWith>[1]) =>
    render(ingress, generation, { route, context: requestWith(payload, changes), ofSender: false });

  /** Texts and messages of the actions, and why there are none. */
  async function contentOf(route: Route, payload: unknown): Promise<unknown> {
    const rendered = await of(route, payload);
    if (isRefusal(rendered)) return rendered.refused;
    const contents = rendered.actions.map((action) => (action.kind === "wake" ? action.text : action.message));
    return rendered.ended === undefined ? contents : { contents, ended: rendered.ended };
  }

  const transforming = (transform: TransformFunction, input: Parameters<typeof mappingOf>[0] = {}) =>
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

    it("with forEach refuses more items than hooks.maxFanOut, and what is no list", async () => {
      const mapping = mappingOf({ messageTemplate: "m", forEach: "items" });
      expect(await contentOf(mapping, { items: [1, 2, 3] })).toEqual(["m", "m", "m"]);
      expect(await contentOf(mapping, { items: [1, 2, 3, 4] })).toBe("BODY_TOO_LARGE");
      expect(await contentOf(mapping, { items: "1" })).toBe("INVALID_PAYLOAD");
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
      expect(given[0]?.url.href).toBe("http://localhost/ci/push?a=1+2");
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

    it.each<[string, TransformFunction]>([
      [
        "throws",
        () => {
          throw new Error("secret detail");
        },
      ],
      ["rejects", () => Promise.reject(new Error("secret detail"))],
      [
        "returns an object whose getter throws",
        () => ({
          get kind() {
            throw new Error("secret detail");
          },
        }),
      ],
      [
        "returns a proxy that throws",
        () =>
          new Proxy(
            {},
            {
              getOwnPropertyDescriptor() {
                throw new Error("secret detail");
              },
            },
          ),
      ],
    ])("fails the request when the transform %s: the log says why, the caller does not learn it", async (_how, fn) => {
      const lines = bench.logged.length;
      const mapping = mappingOf({ id: "ci", messageTemplate: "m", transform: { module: "ci.ts" } }, { transform: fn });
      expect(await of(mapping, { token: "payload-secret" })).toEqual({
        refused: "TRANSFORM_FAILED",
        message: undefined,
        retryAfterSeconds: undefined,
      });
      const [line, ...more] = bench.logged.slice(lines);
      expect(more).toEqual([]);
      expect(line).toMatchObject({ level: "error", message: "a transform failed" });
      expect(line?.fields).toEqual({ err: new Error("secret detail"), mapping: "ci", module: "ci.ts" });
    });

    it("fails the request when the transform returns no action, and says here and in the log what it has to", async () => {
      const lines = bench.logged.length;
      const reason = "The transform of this hook returned no action: it has to return an object, null or undefined.";
      expect(
        await of(
          transforming(() => "text"),
          TWO,
        ),
      ).toMatchObject({ refused: "TRANSFORM_FAILED", message: reason });
      expect(bench.logged.slice(lines)).toMatchObject([{ level: "error", fields: { reason, mapping: "ci" } }]);
    });
  });

  describe("with a plugin on `actions`", () => {
    const wake = (text: string): Action => ({ kind: "wake", text, mode: "now" });

    it("takes the actions as the plugin changed them, for every kind of route", async () => {
      ingress.hooks.actions.tapPromise("plugin", async (actions, { path }) => [...actions, wake(`seen ${path}`)]);
      expect(await contentOf("wake", { text: "a" })).toEqual(["a", "seen hook"]);
      expect(await contentOf(mappingOf({ messageTemplate: "m" }), TWO)).toEqual(["m", "seen hook"]);
    });

    it("skips the request when the plugin leaves none, and says so", async () => {
      ingress.hooks.actions.tap("plugin", () => []);
      expect(await contentOf("wake", { text: "a" })).toEqual({
        contents: [],
        ended: { state: "skipped", reason: "a plugin left no action" },
      });
    });

    it("keeps the reason of a request that was skipped before", async () => {
      ingress.hooks.actions.tap("plugin", (actions) => actions);
      expect(
        await contentOf(
          transforming(() => null),
          TWO,
        ),
      ).toMatchObject({ ended: { state: "skipped", reason: "the transform returned null" } });
    });

    it("no longer skips a request that the plugin gives an action", async () => {
      ingress.hooks.actions.tap("plugin", () => [wake("after all")]);
      expect(
        await of(
          transforming(() => null),
          TWO,
        ),
      ).toEqual({ actions: [wake("after all")] });
    });

    it("does not ask the plugin about a request that is refused", async () => {
      let asked = 0;
      ingress.hooks.actions.tap("plugin", (actions) => {
        asked++;
        return actions;
      });
      expect(await contentOf("wake", {})).toBe("INVALID_PAYLOAD");
      expect(asked).toBe(0);
    });

    it("fails the request when the plugin fails, naming it", async () => {
      ingress.hooks.actions.tap("plugin", () => {
        throw new Error("broken");
      });
      await expect(of("wake", { text: "a" })).rejects.toThrow('Hook "actions", tap "plugin": broken');
    });
  });
});
