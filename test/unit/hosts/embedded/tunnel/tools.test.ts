import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { onLines } from "../../../../../src/hosts/embedded/tunnel/output-lines.ts";
import { toolOf } from "../../../../../src/hosts/embedded/tunnel/tools.ts";
import {
  cloudflaredFailure,
  cloudflaredOutput,
  ngrokOutput,
  tailscaleOutput,
  tailscaleRefusal,
} from "../gateway/fake-tools.ts";

type Via = Parameters<typeof toolOf>[0]["via"];

/** Every URL that a tool is said to have in that output. */
function urlsIn(via: Via, output: string): string[] {
  const tool = toolOf({ via, words: [] });
  return output.split("\n").flatMap((line) => tool.urlIn(line.trim()) ?? []);
}

describe("the URL of a tool", () => {
  it("is in the output of that tool, and in no other line of it", () => {
    expect(urlsIn("cloudflared", cloudflaredOutput("a-b"))).toEqual(["https://a-b.trycloudflare.com"]);
    expect(urlsIn("tailscale", tailscaleOutput("box.tail"))).toEqual(["https://box.tail.ts.net"]);
    expect(urlsIn("ngrok", ngrokOutput("ab"))).toEqual(["https://ab.ngrok-free.app"]);
    expect(urlsIn("cloudflared", cloudflaredFailure)).toEqual([]);
    expect(urlsIn("tailscale", tailscaleRefusal)).toEqual([]);
  });

  it.each([
    ["forwarding https://a.example.org/x/ -> http://127.0.0.1:80", "https://a.example.org/x"],
    ["to https://localhost:1 from https://b.example.org.", "https://b.example.org"],
    ["http://plain.example.org", undefined],
    ["https://user:password@c.example.org", undefined],
    ["https://127.0.0.1 https://[::1]/ https://0.0.0.0 https://nodots", undefined],
    [`https://d.example.org/${"x".repeat(3_000)}`, undefined],
    ["https://", undefined],
  ])("of a program of the owner's in %j is %j", (line, url) => {
    expect(toolOf({ via: "command", words: [] }).urlIn(line)).toBe(url);
  });

  it("is https and without a slash at its end, whatever is printed", () => {
    fc.assert(
      fc.property(fc.constantFrom<Via>("cloudflared", "tailscale", "ngrok", "command"), fc.string(), (via, line) => {
        for (const text of [line, `https://${line}`, `{"msg":"started tunnel","url":${JSON.stringify(line)}}`]) {
          const url = toolOf({ via, words: [] }).urlIn(text);
          if (url !== undefined) expect(url).toMatch(/^https:\/\/.*[^/]$/u);
        }
      }),
    );
  });
});

describe("the lines of a tool", () => {
  it("are whole, whatever their pieces, without colors, and cut to a bound", async () => {
    const stream = new PassThrough();
    const lines: string[] = [];
    const closed = onLines(stream, (line) => lines.push(line.slice(0, 20) + (line.length > 20 ? line.length : "")));
    for (const piece of [
      "on",
      "e\r\n\n\u001B[31mtw",
      "o\u001B[0m\n",
      ...Array.from({ length: 100 }, () => "x".repeat(1_000)),
      "\nend",
    ]) {
      stream.write(piece);
    }
    stream.end();
    await closed;
    expect(lines).toEqual(["one", "two", `${"x".repeat(20)}8192`, "end"]);
  });
});
