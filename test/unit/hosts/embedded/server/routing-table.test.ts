import { describe, expect, it } from "vitest";
import type { HttpRoute } from "../../../../../src/core/host.ts";
import { RoutingTable } from "../../../../../src/hosts/embedded/server/routing-table.ts";

function route(path: string, match: HttpRoute["match"]): HttpRoute {
  return { path, match, handler: () => {} };
}

function found(table: RoutingTable, pathname: string): string | undefined {
  const hit = table.find(pathname);
  return hit && `${hit.match} ${hit.path}`;
}

describe("RoutingTable", () => {
  it("gives a prefix the path itself and everything below it, by segment", () => {
    const table = new RoutingTable();
    table.register(route("/hooks", "prefix"));
    for (const path of ["/hooks", "/hooks/", "/hooks/x", "/hooks//wake"]) {
      expect(found(table, path)).toBe("prefix /hooks");
    }
    for (const path of ["/hooksx", "/Hooks", "/", "/%68ooks", "hooks", "*"]) {
      expect(found(table, path)).toBeUndefined();
    }
  });

  it("gives an exact route its path alone and prefers it to a prefix", () => {
    const table = new RoutingTable();
    table.register(route("/health", "prefix"));
    table.register(route("/health", "exact"));
    expect(found(table, "/health")).toBe("exact /health");
    expect(found(table, "/health/x")).toBe("prefix /health");
  });

  it("prefers the longer prefix, whatever the order of registration", () => {
    const table = new RoutingTable();
    for (const path of ["/a", "/a/b/c", "/a/b", "/"]) table.register(route(path, "prefix"));
    expect(found(table, "/a/b/c/d")).toBe("prefix /a/b/c");
    expect(found(table, "/a/bc")).toBe("prefix /a");
    expect(found(table, "/x")).toBe("prefix /");
  });

  it("refuses a second route for the same path and match", () => {
    const table = new RoutingTable();
    for (const match of ["exact", "prefix"] as const) {
      table.register(route("/x", match));
      expect(() => {
        table.register(route("/x", match));
      }).toThrow(`The ${match} route /x is registered already`);
    }
  });

  it("refuses a path that no request can have", () => {
    const table = new RoutingTable();
    for (const path of ["", "hooks", "/hooks/", "/a?b", "/a#b", "/a b"]) {
      expect(() => {
        table.register(route(path, "prefix"));
      }).toThrow("is malformed");
    }
  });
});
