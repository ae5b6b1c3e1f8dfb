import { describe, expect, it } from "vitest";
import { senderReplayKeys } from "../../../../src/ingress/stages/accept.ts";

const NOW = 1_000_000;
const replay = { digest: new Uint8Array(32).fill(7), expiresAt: NOW + 300_000 };
const request = { path: "github", replay, receivedAt: NOW };

describe("what a copy of a sender's request is recognized by", () => {
  it("is what was signed, as long as the scheme says, and the sender's id for as long as ids are remembered", () => {
    const marks = senderReplayKeys(request, "delivery-1", 60_000);
    expect(marks).toHaveLength(2);
    expect(marks[0]).toEqual({ key: replay.digest, expiresAt: NOW + 300_000 });
    expect(marks[1]).toMatchObject({ expiresAt: NOW + 60_000 });
    expect(marks[1]!.key).toHaveLength(32);
  });

  it("is nothing for a sender who neither signs nor numbers its requests", () => {
    expect(senderReplayKeys({ ...request, replay: undefined }, undefined, 60_000)).toEqual([]);
  });

  it("is scoped to the route: the same id on another is another delivery", () => {
    const keyOf = (path: string, id: string) =>
      Buffer.from(senderReplayKeys({ ...request, path, replay: undefined }, id, 1)[0]!.key).toString("hex");
    expect(keyOf("github", "1")).toBe(keyOf("github", "1"));
    expect(new Set([keyOf("github", "1"), keyOf("gitlab", "1"), keyOf("github", "2")]).size).toBe(3);
    expect(keyOf("a", 'b","c')).not.toBe(keyOf('a","b', "c"));
  });
});
