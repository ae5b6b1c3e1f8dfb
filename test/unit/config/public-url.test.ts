import { describe, expect, it } from "vitest";
import { context, GOOD_SECRET, PRESETS, presetOf, read, refusalsOf } from "./hooks-context.ts";

const urlOf = (publicUrl: string): string | undefined => read({ publicUrl }).config.publicUrl;

describe("hooks.publicUrl", () => {
  it.each([
    ["https://gateway.example.com", "https://gateway.example.com"],
    [" https://gateway.example.com/ ", "https://gateway.example.com"],
    ["https://Gateway.Example.com:443//", "https://gateway.example.com"],
    ["https://example.com:8443/agents/", "https://example.com:8443/agents"],
    ["http://localhost:18789", "http://localhost:18789"],
    ["http://127.0.0.1:18789/", "http://127.0.0.1:18789"],
    ["http://[::1]", "http://[::1]"],
    ["http://gateway.localhost", "http://gateway.localhost"],
  ])("reads %j as %s, and has nothing to say", (written, publicUrl) => {
    expect(read({ publicUrl: written })).toMatchObject({ config: { publicUrl }, warnings: [] });
  });

  it("is absent when it is blank", () => {
    expect(urlOf(" ")).toBeUndefined();
    expect(read({}).config.publicUrl).toBeUndefined();
  });

  it.each(["gateway.example.com", "ftp://example.com", "https://", "/hooks", "javascript:alert(1)"])(
    "refuses %j, which is no URL of the web",
    (publicUrl) => {
      expect(refusalsOf({ publicUrl })).toEqual([
        'hooks.publicUrl: is not an http or https URL; write for example "https://gateway.example.com"',
      ]);
    },
  );

  it.each([
    ["https://example.com/?", "a query"],
    ["https://example.com?a=b", "a query"],
    ["https://example.com/#", "a fragment"],
    ["https://me@example.com", "a user name or password"],
    ["https://me:hidden-word@example.com", "a user name or password"],
    ["https://:hidden-word@example.com", "a user name or password"],
  ])("refuses %j, and does not repeat it", (publicUrl, surplus) => {
    expect(refusalsOf({ publicUrl })).toEqual([
      `hooks.publicUrl: must not hold ${surplus}; write for example "https://gateway.example.com"`,
    ]);
  });

  it.each(["http://example.com", "http://192.168.0.2:18789", "http://127.0.0.1.example.com"])(
    "warns of %j, which others can listen to",
    (publicUrl) => {
      expect(read({ publicUrl }).warnings).toEqual([
        "hooks.publicUrl: is not https: anyone on the network can read and change what senders post",
      ]);
    },
  );

  it("warns of a URL that holds hooks.path already", () => {
    expect(read({ publicUrl: "https://example.com/hooks/" }).warnings).toEqual([
      "hooks.publicUrl: ends with hooks.path, which follows it once more: https://example.com/hooks/hooks",
    ]);
  });

  it.each(["{url}{body}", "{decodedUrl}{body}"])("is required by a sender that signs %s", (content) => {
    const auth = { from: "header:x-signature", content };
    const mapping = { match: { path: "a" }, messageTemplate: "m", auth, secret: GOOD_SECRET };
    expect(refusalsOf({ mappings: [mapping, { ...mapping, match: { path: "b" } }] })).toEqual([
      'hooks.publicUrl: is required by hooks.mappings[0], whose sender signs the URL that it calls: the public URL of the gateway; write for example "https://gateway.example.com"',
    ]);
    expect(refusalsOf({ mappings: [mapping], publicUrl: "https://example.com" })).toEqual([]);
    expect(refusalsOf({ mappings: [mapping], enabled: false })).toEqual([]);
    expect(refusalsOf({ mappings: [mapping], publicUrl: 5 })).toEqual(["hooks.publicUrl: 5 is not an https URL"]);
  });

  it("is required by a sender that wants the URL in its handshake", () => {
    const asking = presetOf({
      name: "asking",
      title: "Asking",
      auth: { from: "header:x-signature" },
      secret: { label: "Secret", madeBy: "owner" },
      handshakes: [
        { name: "check", verified: false, emptyBody: true, reply: { status: 200, json: { address: "{url}" } } },
      ],
    });
    const around = context({ presets: new Map([...PRESETS, ["asking", asking]]) });
    const block = { presets: ["asking"], asking: { secret: GOOD_SECRET } };
    expect(refusalsOf(block, around)[0]).toContain("hooks.publicUrl: is required by hooks.asking");
    expect(refusalsOf({ ...block, publicUrl: "https://example.com" }, around)).toEqual([]);
  });
});
