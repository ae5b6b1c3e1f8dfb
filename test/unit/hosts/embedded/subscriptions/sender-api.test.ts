import { afterEach, describe, expect, it } from "vitest";
import { githubWebhooks } from "../../../../../src/cli/connect/github-webhooks.ts";
import { SenderApiError } from "../../../../../src/hosts/embedded/errors.ts";
import { SenderApi } from "../../../../../src/hosts/embedded/subscriptions/sender-api.ts";
import { type FakeAnswer, FakeSender } from "../../../cli/connect/fake-sender.ts";

let fake: FakeSender | undefined;
afterEach(async () => {
  await fake?.stop();
  fake = undefined;
});

const CALL = { method: "GET", path: "/secret-path", act: "list the webhooks of acme/web" } as const;

async function refused(
  answer: FakeAnswer | "nothing",
  options: { timeoutMs?: number; maxBytes?: number } = {},
): Promise<string> {
  fake = await new FakeSender(() => ({ status: 200 })).start();
  fake.instead.push(answer);
  const api = new SenderApi(githubWebhooks, { base: fake.url, token: "ghp_x1", secrets: ["its-secret"], ...options });
  const error: unknown = await api.call(CALL).catch((reason: unknown) => reason);
  if (!(error instanceof SenderApiError)) throw new Error("It was not refused.", { cause: error });
  expect(error.message).toMatch(/^GitHub was asked to list the webhooks of acme\/web and /u);
  return error.message;
}

const bodyOf = (message: string): object => ({ message });

describe("the API of a sender", () => {
  it.each<[status: number, said: string, advice: string]>([
    [
      401,
      "answered 401 (Bad credentials).",
      "The token is not valid or has expired. It must be one that may administer",
    ],
    [403, "answered 403 (Bad credentials).", "The token may not do that. It must be one that may administer webhooks"],
    [404, "answered 404 (Bad credentials).", "It is not there, or the token may not see it."],
    [422, "answered 422 (Bad credentials).", ""],
    [500, "answered 500 (Bad credentials).", "The fault is at GitHub: try again later."],
    [503, "answered 503 (Bad credentials).", "The fault is at GitHub: try again later."],
  ])("that answers %d says so, in its own words, with what to do", async (status, said, advice) => {
    const message = await refused({ status, body: bodyOf("Bad credentials") });
    expect(message).toContain(said);
    expect(message).toContain(advice);
  });

  it("that takes no more calls says when to try again, by 429 and by 403", async () => {
    const limited = { status: 403, headers: { "x-ratelimit-remaining": "0" }, body: {} };
    expect(await refused(limited)).toContain("It takes no more calls for now: try again later.");
    await fake?.stop();
    const slow = { status: 429, headers: { "retry-after": "90" }, body: {} };
    expect(await refused(slow)).toContain("try again in 90 seconds.");
  });

  it("that answers with a redirect is not followed, and only the host of its target is shown", async () => {
    const headers = { location: "https://elsewhere.example.com/hooks?token=1" };
    const message = await refused({ status: 301, headers, body: "" });
    expect(message).toContain("answered 301, a redirect to elsewhere.example.com. A redirect is not followed");
    expect(message).not.toContain("token=1");
    expect(fake?.calls.length).toBe(1);
  });

  it("is read up to a limit, waited for up to a limit, and must answer JSON", async () => {
    expect(await refused({ status: 200, body: "x".repeat(70_000) }, { maxBytes: 65_536 })).toContain(
      "answered with more than 65536 bytes, which are not read",
    );
    await fake?.stop();
    expect(await refused("nothing", { timeoutMs: 100 })).toContain(
      "did not answer within 100 ms. Check the network and",
    );
    await fake?.stop();
    expect(await refused({ status: 200, body: "<html>" })).toContain("answered with what is not JSON. Check --api.");
  });

  it("that cannot be reached is named by its origin alone", async () => {
    fake = await new FakeSender(() => ({ status: 200 })).start();
    const base = fake.url;
    await fake.stop();
    const api = new SenderApi(githubWebhooks, { base: `${base}/api/v3`, token: "ghp_x1" });
    await expect(api.call(CALL)).rejects.toThrow(`could not be reached (ECONNREFUSED). Check the network and ${base},`);
  });

  it("never has the token, the secret, the path or control characters in a message", async () => {
    const body = { message: { url: ["its-secret is \u001b[31mbad"] }, errors: [{ message: "ghp_x1" }, "and more"] };
    const message = await refused({ status: 422, body });
    expect(message).toContain("answered 422 (");
    expect(message).toContain("and more");
    expect(message).not.toMatch(/its-secret|ghp_x1|secret-path/u);
    expect(message).not.toContain("\u001B");
    await fake?.stop();
    expect((await refused({ status: 422, body: bodyOf("y".repeat(5_000)) })).length).toBeLessThan(500);
  });
});
