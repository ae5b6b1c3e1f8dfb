import { describe, expect, it } from "vitest";
import { bitbucket } from "../../../../src/presets/senders/bitbucket/bitbucket.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { itTakesTheHmac } from "../it-takes-the-hmac.ts";

const read = (event: string, payload: object) => readSample(bitbucket, { headers: { "x-event-key": event }, payload });

describe("the preset bitbucket", () => {
  itReadsSamples(bitbucket, {
    push: {
      event: "repo:push",
      deliveryId: "8a7c0000-0000-4000-8000-000000000001",
      sender: { name: "ada", id: "557058:0a1b2c3d", bot: false },
      message: [
        "ada pushed 2 commits to branch main in acme/app",
        "- b6568db Keep sessions for a day (Ada Lund)",
        "- da15608 Test the session's end (Ben <ben@example.com>)",
        "https://bitbucket.example.com/acme/app/branches/compare/da15608..b6568db",
      ],
    },
    pullrequest: {
      event: "pullrequest:created",
      deliveryId: "8a7c0000-0000-4000-8000-000000000002",
      sender: { name: "ada", id: "557058:0a1b2c3d", bot: false },
      message: [
        "ada opened pull request #12 in acme/app: Fix login",
        "Branch: fix-login into main",
        "Sessions ended after a minute.",
        "https://bitbucket.example.com/acme/app/pull-requests/12",
      ],
    },
    comment: {
      event: "pullrequest:comment_created",
      deliveryId: "8a7c0000-0000-4000-8000-000000000003",
      sender: { name: "ada", id: "557058:0a1b2c3d", bot: false },
      message: [
        "ada commented on pull request #12 in acme/app: Fix login",
        "Branch: fix-login into main",
        "File: src/login.ts:10",
        "Does it also work on the phone?",
        "https://bitbucket.example.com/acme/app/pull-requests/12#comment-17",
      ],
    },
  });

  itTakesTheHmac(bitbucket, "push", "x-hub-signature", (mac) => `sha256=${mac.digest("hex")}`);

  it.each([
    ["user", false],
    ["team", false],
    ["app_user", true],
    ["AppUser", true],
    [undefined, false],
  ])("knows of an actor of type %s whether it is a bot", (type, bot) => {
    const { sender } = read("repo:push", { actor: { type, display_name: "Ada", uuid: "{1}" } });
    expect(sender).toEqual({ name: "Ada", id: "{1}", bot });
  });

  it.each<[string, object, readonly string[]]>([
    ["repo:push", {}, ["ada pushed in acme/app", "https://bitbucket.example.com/acme/app"]],
    [
      "repo:push",
      { push: { changes: [{ closed: true, old: { type: "branch", name: "old" } }] } },
      ["ada deleted branch old in acme/app"],
    ],
    [
      "repo:push",
      { push: { changes: [{ created: true, new: { type: "tag", name: "v1" } }, { new: { name: "main" } }] } },
      ["ada created tag v1 in acme/app", "ada pushed branch main in acme/app"],
    ],
    [
      "repo:push",
      {
        push: {
          changes: [
            { forced: true, truncated: true, new: { type: "branch", name: "main" }, commits: [{ hash: "abcdef012" }] },
          ],
        },
      },
      ["ada force-pushed at least 1 commit to branch main in acme/app", "- abcdef0"],
    ],
    ["pullrequest:fulfilled", { pullrequest: { id: 1, title: "T" } }, ["ada merged pull request #1 in acme/app: T"]],
    [
      "pullrequest:rejected",
      { pullrequest: { id: 1, title: "T", reason: "No" } },
      ["ada declined pull request #1 in acme/app: T", "Reason: No"],
    ],
    ["pullrequest:", {}, ["ada updated pull request in acme/app"]],
    [
      "issue:created",
      { issue: { id: 2, title: "T", content: { raw: "C" } } },
      ["ada created issue #2 in acme/app: T", "C"],
    ],
    [
      "issue:comment_created",
      { issue: { id: 2, title: "T" }, comment: { content: { raw: "C" } }, changes: { status: { new: "closed" } } },
      ["ada commented on issue #2 in acme/app: T", "Status: closed", "C"],
    ],
    ["issue", {}, ["ada updated issue in acme/app"]],
    [
      "repo:commit_status_updated",
      {
        commit_status: {
          state: "FAILED",
          name: "CI",
          refname: "main",
          description: "1 failed",
          url: "https://ci.example.com/1",
          commit: { hash: "abcdef012", message: "M" },
        },
      },
      ["Build CI failed on main in acme/app: 1 failed", "Reported by: ada", "- abcdef0 M", "https://ci.example.com/1"],
    ],
    [
      "repo:commit_status_created",
      { commit_status: { state: "ODD", key: "k" } },
      ["Build k is odd in acme/app", "Reported by: ada", "https://bitbucket.example.com/acme/app"],
    ],
    [
      "repo:commit_comment_created",
      { commit: { hash: "abcdef012" }, comment: { content: { raw: "C" } } },
      ["ada commented on commit abcdef0 in acme/app", "C"],
    ],
    [
      "repo:fork",
      { fork: { full_name: "ben/app", links: { html: { href: "https://bitbucket.example.com/ben/app" } } } },
      ["Repo fork in acme/app to ben/app by ada", "https://bitbucket.example.com/ben/app"],
    ],
  ])("says of %s %j what happened", (event, payload, lines) => {
    const links = { html: { href: "https://bitbucket.example.com/acme/app" } };
    const origin = { actor: { nickname: "ada" }, repository: { full_name: "acme/app", links } };
    expect(read(event, { ...origin, ...payload }).message).toBe(lines.join("\n"));
  });

  it("counts the branches and tags of a push that it does not list", () => {
    const changes = Array.from({ length: 7 }, (_, at) => ({ created: true, new: { type: "tag", name: `v${at}` } }));
    const lines = read("repo:push", { actor: { nickname: "ada" }, push: { changes } }).message.split("\n");
    expect([lines.length, lines[4], lines[5]]).toEqual([6, "ada created tag v4", "... and 2 more changes"]);
  });

  it("shows an event of which it knows nothing as it is", () => {
    expect(readSample(bitbucket, { payload: { strange: 1 } }).message).toBe('Bitbucket event\n{"strange":1}');
  });
});
