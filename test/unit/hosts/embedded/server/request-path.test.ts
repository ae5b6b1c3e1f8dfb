import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { requestPath } from "../../../../../src/hosts/embedded/server/routing-table.ts";

function path(target: string | undefined): readonly (string | undefined)[] {
  const req = new IncomingMessage(new Socket());
  if (target !== undefined) req.url = target;
  return [requestPath(req), req.url];
}

describe("requestPath", () => {
  it("gives the pathname as sent", () => {
    expect(path("/hooks/%77ake?a=/b?c")).toEqual(["/hooks/%77ake", "/hooks/%77ake?a=/b?c"]);
    expect(path("//hooks/../x")).toEqual(["//hooks/../x", "//hooks/../x"]);
    expect(path("/")).toEqual(["/", "/"]);
  });

  it("rewrites a target in absolute form", () => {
    expect(path("http://example.com/hooks?x=1")).toEqual(["/hooks", "/hooks?x=1"]);
    expect(path("HTTPS://example.com:8080")).toEqual(["/", "/"]);
    expect(path("http://example.com?x=1")).toEqual(["/", "/?x=1"]);
  });

  it("leaves what is no path alone, which then has no route", () => {
    expect(path("*")).toEqual(["*", "*"]);
    expect(path("ftp://example.com/hooks")).toEqual(["ftp://example.com/hooks", "ftp://example.com/hooks"]);
    expect(path("")).toEqual(["", ""]);
  });
});
