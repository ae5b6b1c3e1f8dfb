import { afterEach, describe, expect, it } from "vitest";
import { githubWebhooks } from "../../../../src/cli/connect/github-webhooks.ts";
import { gitlabWebhooks } from "../../../../src/cli/connect/gitlab-webhooks.ts";
import type { HookPlace, Registrar, Wish } from "../../../../src/cli/connect/registrar.ts";
import { SenderApi } from "../../../../src/hosts/embedded/subscriptions/sender-api.ts";
import { stripeWebhooks } from "../../../../src/cli/connect/stripe-webhooks.ts";
import { telegramWebhook } from "../../../../src/cli/connect/telegram-webhook.ts";
import {
  fakeGithub,
  fakeGitlab,
  fakeStripe,
  fakeTelegram,
  GITHUB_TOKEN,
  GITLAB_TOKEN,
  STRIPE_KEY,
  STRIPE_SECRET,
  TELEGRAM_TOKEN,
} from "./fake-apis.ts";
import type { FakeSender } from "./fake-sender.ts";

const URL = "https://gateway.example.com/hooks/it";
const SECRET = "secret-of-the-registrar-tests";
let fake: FakeSender;

afterEach(() => fake.stop());

async function apiOf(registrar: Registrar, started: FakeSender, token: string): Promise<SenderApi> {
  fake = await started.start();
  return new SenderApi(registrar, { base: fake.url, token });
}

function wish(place: HookPlace | null, more: Partial<Wish> = {}): Wish {
  return { url: URL, secret: SECRET, events: undefined, place, replace: false, ...more };
}

describe("GitHub", () => {
  const place = { kind: "repo", name: "acme/web" } as const;

  it("is given a webhook that posts JSON, for what people do", async () => {
    const hooks = new Map<number, Readonly<Record<string, unknown>>>();
    const api = await apiOf(githubWebhooks, fakeGithub(hooks), GITHUB_TOKEN);
    const made = await githubWebhooks.register(api, wish(place));
    expect(made).toMatchObject({ id: "7", name: "webhook 7 of acme/web", isNew: true });
    expect(made.events).toContain("pull_request");
    expect(hooks.get(7)).toMatchObject({
      name: "web",
      active: true,
      config: { url: URL, content_type: "json", insecure_ssl: "0", secret: SECRET },
    });
    expect(fake.lines).toEqual(["GET /repos/acme/web/hooks", "POST /repos/acme/web/hooks"]);
  });

  it("has the webhook with that URL updated, on whatever page it is, and its events kept", async () => {
    const other = { config: { url: "https://else.example.com" } };
    const hooks = new Map(
      Array.from({ length: 130 }, (_, at) => [at + 100, other as Readonly<Record<string, unknown>>]),
    );
    hooks.set(900, { config: { url: URL, content_type: "form" }, events: ["push"], active: false });
    const api = await apiOf(githubWebhooks, fakeGithub(hooks), GITHUB_TOKEN);
    expect(await githubWebhooks.register(api, wish(place))).toMatchObject({
      id: "900",
      isNew: false,
      events: ["push"],
    });
    expect(hooks.get(900)).toMatchObject({ active: true, config: { content_type: "json", secret: SECRET } });
    expect(hooks.size).toBe(131);
    await githubWebhooks.register(api, wish(place, { events: ["release"] }));
    expect(hooks.get(900)).toMatchObject({ events: ["release"] });
  });

  it("has the webhook of an organization deleted, and says when it was gone", async () => {
    const hooks = new Map([[7, {}]]);
    const api = await apiOf(githubWebhooks, fakeGithub(hooks, "/orgs/acme/hooks"), GITHUB_TOKEN);
    const registration = { id: "7", url: URL, place: { kind: "org", name: "acme" } } as const;
    expect(await githubWebhooks.remove(api, registration)).toBe(true);
    expect(await githubWebhooks.remove(api, registration)).toBe(false);
    expect(fake.lines).toEqual(["DELETE /orgs/acme/hooks/7", "DELETE /orgs/acme/hooks/7"]);
  });

  it("refuses a wrong token and a repository that is not there, each with what the token needs", async () => {
    const api = await apiOf(githubWebhooks, fakeGithub(new Map()), "ghp_wrong");
    await expect(githubWebhooks.register(api, wish(place))).rejects.toThrow(
      /401 \(Bad credentials\).*admin:repo_hook/u,
    );
    const known = new SenderApi(githubWebhooks, { base: fake.url, token: GITHUB_TOKEN });
    const elsewhere = wish({ kind: "repo", name: "acme/nosuch" });
    await expect(githubWebhooks.register(known, elsewhere)).rejects.toThrow(
      "list the webhooks of acme/nosuch and answered 404 (Not Found). It is not there",
    );
  });
});

describe("GitLab", () => {
  const place = { kind: "project", name: "acme/web" } as const;

  it("is given a webhook with the token and without the pushes that it would send by itself", async () => {
    const hooks = new Map<number, Readonly<Record<string, unknown>>>();
    const api = await apiOf(gitlabWebhooks, fakeGitlab(hooks), GITLAB_TOKEN);
    const made = await gitlabWebhooks.register(api, wish(place));
    expect(made).toEqual({
      id: "11",
      name: "webhook 11 of acme/web",
      isNew: true,
      events: ["issues", "merge_requests", "note"],
    });
    expect(hooks.get(11)).toMatchObject({ url: URL, token: SECRET, push_events: false, enable_ssl_verification: true });
    expect(await gitlabWebhooks.register(api, wish(place, { events: ["push"] }))).toMatchObject({
      isNew: false,
      events: ["push"],
    });
    const moved = wish(place, { url: "https://moved.example.com", before: { id: "11", url: URL } });
    expect(await gitlabWebhooks.register(api, moved)).toMatchObject({ id: "11", isNew: false });
    expect([hooks.size, hooks.get(11)?.["url"]]).toEqual([1, "https://moved.example.com"]);
    expect(await gitlabWebhooks.remove(api, { id: "11", place, url: URL })).toBe(true);
    expect(await gitlabWebhooks.remove(api, { id: "11", place, url: URL })).toBe(false);
  });

  it("names its events when it has none of that name", async () => {
    const api = await apiOf(gitlabWebhooks, fakeGitlab(new Map()), GITLAB_TOKEN);
    await expect(gitlabWebhooks.register(api, wish(place, { events: ["pushes"] }))).rejects.toThrow(
      'GitLab has no event "pushes". It has: push, tag_push,',
    );
    expect(fake.calls).toEqual([]);
  });
});

describe("Stripe", () => {
  it("makes the secret of a new endpoint", async () => {
    const endpoints = new Map<string, { url: string; events: readonly string[] }>();
    const api = await apiOf(stripeWebhooks, fakeStripe(endpoints), STRIPE_KEY);
    const made = await stripeWebhooks.register(api, wish(null, { secret: undefined, events: ["payout.failed"] }));
    expect(made).toMatchObject({ isNew: true, events: ["payout.failed"], secret: STRIPE_SECRET });
    expect([...endpoints.values()]).toEqual([{ url: URL, events: ["payout.failed"] }]);
    expect(await stripeWebhooks.remove(api, { id: made.id, place: null, url: URL })).toBe(true);
    expect(await stripeWebhooks.remove(api, { id: made.id, place: null, url: URL })).toBe(false);
  });

  it("updates the endpoint with that URL when its secret is known, and makes it once more only on request", async () => {
    const endpoints = new Map(
      Array.from({ length: 130 }, (_, at) => [`we_other${at}`, { url: `https://${at}.example.com`, events: ["*"] }]),
    );
    endpoints.set("we_known", { url: URL, events: ["charge.failed"] });
    const api = await apiOf(stripeWebhooks, fakeStripe(endpoints), STRIPE_KEY);
    expect(await stripeWebhooks.register(api, wish(null))).toEqual({
      id: "we_known",
      name: "endpoint we_known",
      isNew: false,
      events: ["charge.failed"],
    });
    const moved = wish(null, { url: "https://moved.example.com", before: { id: "we_known", url: URL } });
    expect(await stripeWebhooks.register(api, moved)).toMatchObject({ id: "we_known", isNew: false });
    expect(endpoints.get("we_known")?.url).toBe("https://moved.example.com");
    await stripeWebhooks.register(api, wish(null, { before: { id: "we_known", url: URL } }));
    const blank = wish(null, { secret: undefined });
    await expect(stripeWebhooks.register(api, blank)).rejects.toThrow("already (we_known), and shows its secret only");
    expect(endpoints.has("we_known")).toBe(true);
    const again = await stripeWebhooks.register(api, { ...blank, replace: true });
    expect([again.isNew, again.secret, endpoints.has("we_known")]).toEqual([true, STRIPE_SECRET, false]);
  });

  it("makes no endpoint whose secret would not be the one that is here", async () => {
    const endpoints = new Map<string, { url: string; events: readonly string[] }>();
    const api = await apiOf(stripeWebhooks, fakeStripe(endpoints), STRIPE_KEY);
    await expect(stripeWebhooks.register(api, wish(null))).rejects.toThrow("makes a secret for each new one");
    expect(endpoints.size).toBe(0);
  });
});

describe("Telegram", () => {
  it("is given the webhook with the secret, and gives it back only while it is this one", async () => {
    const bot = { url: "" };
    const api = await apiOf(telegramWebhook, fakeTelegram(bot), TELEGRAM_TOKEN);
    expect(await telegramWebhook.register(api, wish(null))).toMatchObject({ id: "700100", isNew: true });
    expect(bot).toEqual({ url: URL, secret: SECRET });
    expect(await telegramWebhook.register(api, wish(null))).toMatchObject({ isNew: false });
    expect(await telegramWebhook.remove(api, { id: "700100", place: null, url: URL })).toBe(true);
    expect(bot.url).toBe("");
    bot.url = "https://before.example.com/it";
    const before = { id: "700100", url: bot.url };
    expect(await telegramWebhook.register(api, wish(null, { before }))).toMatchObject({ isNew: true });
    bot.url = "https://else.example.com/it";
    expect(await telegramWebhook.remove(api, { id: "700100", place: null, url: URL })).toBe(false);
    expect(bot.url).toBe("https://else.example.com/it");
    await expect(telegramWebhook.remove(api, { id: "5", place: null, url: URL })).rejects.toThrow(
      "The token is that of the bot 700100, and the webhook that of the bot 5.",
    );
  });

  it("keeps the webhook of another service unless it is told to take it over", async () => {
    const bot = { url: "https://else.example.com/with-a-secret" };
    const api = await apiOf(telegramWebhook, fakeTelegram(bot), TELEGRAM_TOKEN);
    await expect(telegramWebhook.register(api, wish(null))).rejects.toThrow("calls else.example.com already");
    expect(await telegramWebhook.register(api, wish(null, { replace: true }))).toMatchObject({ isNew: true });
    expect(bot.url).toBe(URL);
  });

  it("never shows the token that its paths hold", async () => {
    const api = await apiOf(telegramWebhook, fakeTelegram({ url: "" }), "700100:AAwrong_token_of_these_tests-01");
    const message = await telegramWebhook.register(api, wish(null)).catch(String);
    expect(message).toContain("answered 401 (Unauthorized). The token is not valid or has expired.");
    expect(message).not.toContain("AAwrong");
    const wrong = new SenderApi(telegramWebhook, { base: fake.url, token: "not-a-token" });
    await expect(telegramWebhook.register(wrong, wish(null))).rejects.toThrow("looks like 123456:ABC...");
  });
});
