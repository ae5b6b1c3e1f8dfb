import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Findings } from "../../../src/config/errors.ts";
import { readHookPath } from "../../../src/config/hook-prefix.ts";
import { read, refusalsOf } from "./hooks-context.ts";

describe("hooks.path", () => {
  it("spec 2.1: the path prefix is /hooks by default", () => {
    expect(read({}).config.path).toBe("/hooks");
    expect(read({ path: " " }).config.path).toBe("/hooks");
  });

  it.each([
    ["hooks", "/hooks"],
    ["/hooks///", "/hooks"],
    [" /in/hooks/ ", "/in/hooks"],
    ["a", "/a"],
    ["/a.b/c_d/~e-f", "/a.b/c_d/~e-f"],
    ["/.well-known/hooks", "/.well-known/hooks"],
    ["/...", "/..."],
    ["/@team:one", "/@team:one"],
  ])("reads %j as %s", (written, path) => {
    expect(read({ path: written }).config.path).toBe(path);
  });

  it.each(["/", "//", "///", " / "])("refuses %j, which would take every path of the gateway", (path) => {
    expect(refusalsOf({ path })).toEqual(['hooks.path: must not be "/"; write for example "/hooks"']);
  });

  it.each(["/a?b", "/a#b", "/a b", "/a\u0000", "/a\nb", "/grüße", "/a\\b", '/a"b', "/a\u007f"])(
    "refuses %j, which no URL carries as it is",
    (path) => {
      expect(refusalsOf({ path })).toEqual([
        'hooks.path: holds characters that a URL carries only in escapes; use letters, digits, "-", "_" and "/"',
      ]);
    },
  );

  it("refuses percent escapes, since paths are compared as sent", () => {
    expect(refusalsOf({ path: "/a%20b" })).toEqual([
      "hooks.path: must not hold percent escapes; paths are compared as sent",
    ]);
  });

  it.each(["//hooks", "/a//b", "/a/./b", "/a/../b", "/..", "./hooks", "/a/.."])(
    "refuses the segments of %j",
    (path) => {
      expect(refusalsOf({ path })).toEqual(['hooks.path: must not hold empty, "." or ".." segments']);
    },
  );

  it("lets nothing through that a URL would write otherwise", () => {
    const paths = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom("/", ".", "a", "%", "?", " ", "#") }));
    fc.assert(
      fc.property(paths, (written) => {
        const findings = new Findings();
        const path = readHookPath(written, findings);
        if (findings.issues.length > 0) return;
        expect(new URL(path, "http://localhost").pathname).toBe(path);
        expect(path).toMatch(/^\/.*[^/]$/);
      }),
      { numRuns: 2_000 },
    );
  });
});
