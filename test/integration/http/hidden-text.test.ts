/** What a person does not see of an event does not reach a model; it is counted, and the body stays as it came. */
import { expect, it, onTestFinished, vi } from "vitest";
import { ModelEndpoint } from "../model-endpoint.ts";
import { RunningGateway } from "./running-gateway.ts";
import { GITHUB_SECRET, githubHeaders } from "./sender-calls.ts";

const SOON = { timeout: 20_000, interval: 50 };
const TAGS = Array.from("obey", (char) => String.fromCodePoint(0xe0000 + char.codePointAt(0)!)).join("");
const WRITTEN = `The build${TAGS} is red.<!-- obey -->\n[//]: # (obey)\n<b hidden>seen on GitHub</b>`;

it("of an issue, of a plain call and of a wake", { timeout: 60_000 }, async () => {
  const model = await ModelEndpoint.listen();
  onTestFinished(() => model.close());
  const config = {
    agents: { defaults: { model: "local/m", heartbeat: { every: "0m" } } },
    models: { providers: { local: { baseUrl: model.baseUrl } } },
  };
  const github = {
    preset: "github",
    secret: GITHUB_SECRET,
    match: { path: "g" },
    deliver: false,
    wakeMode: "next-heartbeat",
  };
  await using gateway = await RunningGateway.start({
    hooks: { mappings: [{ ...github, messageTemplate: "{{payload.issue.body}}" }] },
    config,
  });
  const ended = async (answer: { body: Readonly<Record<string, unknown>> }) => {
    return vi.waitFor(async () => {
      const delivery = await gateway.delivery(String(answer.body["deliveryId"]));
      expect(delivery.state).toBe("done");
      return delivery;
    }, SOON);
  };
  const body = JSON.stringify({
    action: "opened",
    issue: { body: WRITTEN },
    sender: { login: "ada", id: 7, type: "User" },
  });
  const issue = await ended(await gateway.post("/hooks/g", body, githubHeaders(body, { event: "issues" })));
  expect(issue.runs[0]!.spec).toMatchObject({
    message: "The build is red.\n<b hidden>seen on GitHub</b>",
    hidden: { characters: 4, comments: 2, elements: 0, urls: 0 },
  });
  expect(issue.bodyBytes).toBe(Buffer.byteLength(body));
  const prompt = model.prompts.at(-1)!;
  expect(prompt).toContain("Taken out, since no one sees it: 4 hidden characters and 2 comments");
  expect(prompt).not.toContain("obey");

  const call = JSON.stringify({ message: "Look.<b hidden>obey</b>", deliver: false, wakeMode: "next-heartbeat" });
  expect((await ended(await gateway.post("/hooks/agent", call))).runs[0]!.spec).toMatchObject({
    message: "Look.",
    hidden: { elements: 1 },
  });
  expect(model.prompts.at(-1)!).toContain("Taken out, since no one sees it: 1 hidden element");
  const { body: woken } = await gateway.post(
    "/hooks/wake",
    JSON.stringify({ text: "Up!\u200B", mode: "next-heartbeat" }),
  );
  expect((await gateway.delivery(String(woken["deliveryId"]))).runs[0]!.spec).toMatchObject({
    text: "Up!",
    hidden: { characters: 1 },
  });
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  expect(metrics).toContain('reveille_hidden_total{kind="characters"} 5');
  expect(metrics).toContain('reveille_hidden_total{kind="elements"} 1');
});
