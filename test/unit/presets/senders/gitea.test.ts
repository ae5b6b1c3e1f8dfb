import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { PresetSample } from "../../../../src/presets/preset.ts";
import { sampleBody } from "../../../../src/presets/preset.ts";
import { gitea } from "../../../../src/presets/senders/gitea/gitea.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { itTakesTheHmac } from "../it-takes-the-hmac.ts";
import { sampleCall } from "../sample-call.ts";
import { forgeReadings } from "./forge-readings.ts";

const read = (event: string, payload: object) => readSample(gitea, { headers: { "x-gitea-event": event }, payload });

describe("the preset gitea", () => {
  itReadsSamples(gitea, forgeReadings("https://gitea.example.com"));

  itTakesTheHmac(gitea, "push", "x-gitea-signature", (mac) => mac.digest("hex"));

  it("verifies of a form the JSON in it, which is what Gitea signs, and reads nothing else of it", async () => {
    const secret = "an-invented-secret";
    const { payload, headers } = gitea.samples["pull_request"]!;
    const json = JSON.stringify(payload);
    const signature = createHmac("sha256", secret).update(json).digest("hex");
    const form: PresetSample = {
      headers: { ...headers, "x-gitea-signature": signature },
      format: "form",
      payload: { payload: json },
    };
    const { body, contentType } = sampleBody(form);
    const call = {
      ...sampleCall(gitea, "pull_request", () => ({ "content-type": contentType, "x-gitea-signature": signature })),
      body,
    };
    const options = { secrets: [secret], settings: { contentType: "form" } };
    expect(await verifyCall(gitea, call, options)).toMatchObject({ ok: true });
    expect(await verifyCall(gitea, call, { secrets: [secret] })).toMatchObject({ ok: false });
    const forged = sampleBody({ format: "form", payload: { payload: json.replace("opened", "closed") } });
    expect(await verifyCall(gitea, { ...call, body: forged.body }, options)).toMatchObject({ ok: false });
    const more: PresetSample = { ...form, payload: { payload: json, action: "closed", sender: "eve" } };
    expect(readSample(gitea, more)).toEqual(readSample(gitea, gitea.samples["pull_request"]!));
  });

  it.each([
    ["gitea-actions", true],
    ["renovate[bot]", true],
    ["ada", false],
  ])("knows of %s whether it is a bot", (login, bot) => {
    expect(read("push", { sender: { login } }).sender).toEqual({ name: login, bot });
  });

  it.each<[string, object, readonly string[]]>([
    ["push", { ref: "refs/tags/v1", total_commits: 0, commits: [] }, ["ada pushed tag v1 in acme/app"]],
    ["create", { ref: "refs/tags/v1", ref_type: "tag" }, ["ada created tag v1 in acme/app"]],
    ["delete", { ref: "old", ref_type: "branch" }, ["ada deleted branch old in acme/app"]],
    ["fork", { forkee: { full_name: "acme/old" } }, ["ada forked acme/old to acme/app"]],
    [
      "issues",
      { action: "edited", issue: { number: 3, title: "T", body: "B" }, changes: { title: { from: "Old" } } },
      ["ada edited issue #3 in acme/app: T", "Title was: Old", "B"],
    ],
    ["issues", { action: "label_updated", issue: { number: 3 } }, ["ada changed the labels of issue #3 in acme/app"]],
    [
      "pull_request",
      { action: "closed", pull_request: { number: 3, merged: true } },
      ["ada merged pull request #3 in acme/app"],
    ],
    [
      "issue_comment",
      { action: "edited", is_pull: true, issue: { number: 3 } },
      ["ada edited a comment on pull request #3 in acme/app"],
    ],
    [
      "pull_request_approved",
      { pull_request: { number: 3, title: "T" }, review: { content: "Nice" } },
      ["ada approved pull request #3 in acme/app: T", "Nice"],
    ],
    ["pull_request_rejected", { number: 3 }, ["ada requested changes to pull request #3 in acme/app"]],
    [
      "pull_request_comment",
      { action: "reviewed", pull_request: { number: 3 }, review: { content: "Hm" } },
      ["ada commented on pull request #3 in acme/app", "Hm"],
    ],
    [
      "release",
      { action: "published", release: { tag_name: "v1", name: "First", body: "News" } },
      ["ada published release v1 in acme/app: First", "News"],
    ],
    [
      "release",
      { action: "deleted", release: { tag_name: "v1", name: "v1", body: "News" } },
      ["ada deleted release v1 in acme/app"],
    ],
    ["repository", { action: "created" }, ["ada created repository acme/app"]],
    ["wiki", { action: "created", page: "Home", comment: "C" }, ["ada created wiki page in acme/app: Home", "C"]],
    [
      "workflow_run",
      {
        action: "completed",
        workflow_run: { display_title: "CI", conclusion: "failure", html_url: "https://gitea.example.com/r" },
      },
      ["Workflow run completed in acme/app by ada: CI", "Result: failure", "https://gitea.example.com/r"],
    ],
    [
      "new_thing",
      { odd: 1 },
      ["New thing in acme/app by ada", '{"odd":1,"sender":{"login":"ada"},"repository":{"full_name":"acme/app"}}'],
    ],
  ])("says of %s %j what happened", (event, payload, lines) => {
    const origin = { sender: { login: "ada" }, repository: { full_name: "acme/app" } };
    expect(read(event, { ...payload, ...origin }).message).toBe(lines.join("\n"));
  });
});
