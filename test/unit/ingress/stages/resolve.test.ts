import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isRefusal } from "../../../../src/core/errors.ts";
import { parse } from "../../../../src/ingress/stages/parse.ts";
import { isDirect } from "../../../../src/ingress/request-head.ts";
import { resolve } from "../../../../src/ingress/stages/resolve.ts";
import { mappingOf } from "../../mapping/mappings.ts";
import { parsedRequest, verifiedRequest, StageBench } from "./stage-bench.ts";

const template = { messageTemplate: "m" };

describe("the route of a request", () => {
  let bench: StageBench;

  beforeEach(async () => {
    bench = await StageBench.open();
  });
  afterEach(() => bench[Symbol.asyncDispose]());

  /** The fixed route or the mapping's id; the code of a refusal. */
  async function routeOf(block: object, path: string, payload: unknown = {}): Promise<string> {
    const { request, parsed } = parsedRequest(path, payload);
    const active = await bench.active(block);
    const resolved = await resolve(active, { sender: undefined }, request, parsed);
    if (isRefusal(resolved)) return resolved.refused;
    return typeof resolved.route === "string" ? resolved.route : resolved.route.config.id;
  }

  it("spec 1: is wake or agent on the two fixed endpoints, which no mapping can take", async () => {
    const mappings = [
      { ...template, match: { path: "wake" } },
      { ...template, match: {} },
    ];
    expect(await routeOf({ mappings }, "wake")).toBe("wake");
    expect(await routeOf({ mappings }, "agent")).toBe("agent");
    expect(isDirect("wake")).toBe(true);
    expect(isDirect("Wake")).toBe(false);
  });

  it("is a mapping on a path that only looks like a fixed endpoint", async () => {
    const mappings = [{ ...template, id: "other", match: { path: "wake" } }];
    expect(await routeOf({ mappings }, "wake/")).toBe("other");
    expect(await routeOf({ mappings }, "agent/")).toBe("NOT_FOUND");
  });

  it("spec 4.3: is the first mapping that matches, own ones before those of presets", async () => {
    const block = {
      presets: ["gmail"],
      mappings: [
        { ...template, id: "test-mails", match: { path: "gmail", source: "test" } },
        { ...template, id: "ci", match: { path: "ci" } },
        { ...template, id: "never", match: { path: "ci" } },
      ],
    };
    expect(await routeOf(block, "ci")).toBe("ci");
    expect(await routeOf(block, "gmail", { source: "test" })).toBe("test-mails");
    expect(await routeOf(block, "gmail", {})).toBe("gmail");
    expect(await routeOf({ mappings: block.mappings }, "gmail")).toBe("NOT_FOUND");
  });

  it("is none when nothing matches", async () => {
    expect(await routeOf({}, "ci")).toBe("NOT_FOUND");
    expect(await routeOf({ mappings: [{ ...template, match: { path: "ci", source: "a" } }] }, "ci")).toBe("NOT_FOUND");
  });

  it("is what a plugin brings when nothing else matches, and only then is it asked", async () => {
    const asked: string[] = [];
    bench.hooks.resolve.tapPromise("plugin", async ({ path, payload }) => {
      asked.push(`${path} ${JSON.stringify(payload)}`);
      return mappingOf({ ...template, id: "from-plugin" });
    });
    const mappings = [{ ...template, id: "ci", match: { path: "ci" } }];
    expect(await routeOf({ mappings }, "ci")).toBe("ci");
    expect(await routeOf({ mappings }, "wake")).toBe("wake");
    expect(asked).toEqual([]);
    expect(await routeOf({ mappings }, "dynamic", { a: 1 })).toBe("from-plugin");
    expect(asked).toEqual(['dynamic {"a":1}']);
  });

  it("is still none when plugins know of none", async () => {
    bench.hooks.resolve.tap("plugin", () => undefined);
    expect(await routeOf({}, "dynamic")).toBe("NOT_FOUND");
  });

  it("spec 8: is refused with 413 when the mapping that owns it takes less than the body that was read", async () => {
    const mappings = [
      { ...template, id: "large", match: { path: "in", source: "a" }, maxBodyBytes: 1_000 },
      { ...template, id: "small", match: { path: "in" }, maxBodyBytes: 20 },
    ];
    const pad = "x".repeat(20);
    expect(await routeOf({ mappings }, "in", { source: "a", pad })).toBe("large");
    expect(await routeOf({ mappings }, "in", { pad })).toBe("BODY_TOO_LARGE");
    expect(await routeOf({ mappings }, "in", { pad: "1234567890" })).toBe("small");
  });

  it("is refused with 415 when the mapping that owns it does not take what another of its path does", async () => {
    const mappings = [
      { ...template, id: "form", match: { path: "in", source: "a" }, accept: ["form"] },
      { ...template, id: "json", match: { path: "in" } },
    ];
    const active = await bench.active({ mappings });
    const resolveForm = async (body: string): Promise<unknown> => {
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const request = verifiedRequest("in", body, { headers });
      const parsed = parse(request, { accept: active.mappings.bodyRules("in")!.accept, maxDepth: 64 });
      if (isRefusal(parsed)) return parsed.refused;
      const resolved = await resolve(active, { sender: undefined }, request, parsed);
      if (isRefusal(resolved)) return resolved.refused;
      return typeof resolved.route === "object" && resolved.route.config.id;
    };
    expect(await resolveForm("source=a&b=2")).toBe("form");
    expect(await resolveForm("source=b&b=2")).toBe("UNSUPPORTED_MEDIA_TYPE");
  });

  it("takes JSON also where a mapping says that it takes forms", async () => {
    const mappings = [{ ...template, id: "form", match: { path: "in" }, accept: ["form"] }];
    expect(await routeOf({ mappings }, "in", { a: 1 })).toBe("form");
  });

  it("ends at its owner: a mapping that refuses a request passes it to no other", async () => {
    const mappings = [
      { ...template, id: "owner", match: { path: "in" }, maxBodyBytes: 1 },
      { ...template, id: "next", match: { path: "in" } },
    ];
    expect(await routeOf({ mappings }, "in", { a: 1 })).toBe("BODY_TOO_LARGE");
  });
});
