import { describe, expect, it } from "vitest";
import { type ConfigIssue, Findings } from "../../../../../src/config/errors.ts";
import { listChannels } from "../../../../../src/hosts/embedded/channels.ts";
import { readChannels } from "../../../../../src/hosts/embedded/config/channels.ts";
import { gatewayConfig } from "../state/temporary-gateway.ts";

function read(channels: object) {
  const findings = new Findings();
  const context = { sources: { configDir: "/nonexistent", env: { TOKEN: "token-of-the-bot" } }, findings };
  const config = readChannels(channels, context, { keep: (make) => make(), before: undefined });
  const lines = (found: readonly ConfigIssue[]): string[] => found.map(({ path, message }) => `${path}: ${message}`);
  return { config, issues: lines(findings.issues), warnings: lines(findings.warnings) };
}

describe("channels of the owner", () => {
  it("have the data of their preset, with what the configuration says instead", () => {
    const { config, issues } = read({
      ops: {
        preset: "telegram",
        secret: { env: "TOKEN" },
        to: "123",
        maxChars: 500,
        json: { chat_id: "{{to}}", text: "!{{text}}" },
      },
    });
    expect(issues).toEqual([]);
    expect(config.own.get("ops")).toMatchObject({
      kind: "http",
      url: "https://api.telegram.org/bot{{secret}}/sendMessage",
      format: "html",
      maxChars: 500,
      json: { chat_id: "{{to}}", text: "!{{text}}" },
      secret: "token-of-the-bot",
      defaultTo: "123",
    });
  });

  it("are warned of a password of a mail server without the name to sign in with", () => {
    const mail = { kind: "email", smtp: { host: "m" }, from: "a@b.example", secret: "password-of-the-mails" };
    expect(read({ mail })).toMatchObject({
      issues: [],
      warnings: ["channels.mail.secret: has no effect without smtp.user, the name to sign in with"],
    });
    expect(read({ mail: { ...mail, smtp: { host: "m", user: "me" } } }).warnings).toEqual([]);
  });

  it("are listed with a recipient, which is the channel itself where the URL says where messages go", () => {
    const { config } = read({
      chat: { preset: "discord", url: "https://discord.com/api/webhooks/1/x" },
      bot: { preset: "telegram", secret: "token-of-the-bot" },
    });
    expect(listChannels(gatewayConfig({ channels: config }))).toEqual([
      { id: "console", defaultTo: "owner" },
      { id: "chat", defaultTo: "chat" },
      { id: "bot" },
    ]);
  });

  it.each<[string, object, string]>([
    [
      "a preset that there is not",
      { own: { preset: "telegramm" } },
      'own.preset: "telegramm" is not a preset of a channel; did you mean "telegram"?',
    ],
    [
      "a preset without what it needs",
      { own: { preset: "telegram" } },
      "own.secret: is required by the preset telegram",
    ],
    ["neither URL nor preset", { own: { to: "x" } }, "own.url: is required, or a preset"],
    [
      "a placeholder in the host",
      { own: { url: "https://{{to}}.example.com/" } },
      "own.url: has a placeholder in its host",
    ],
    ["a URL that is none", { own: { url: "nowhere" } }, "own.url: is no URL"],
    [
      "a placeholder that there is not",
      { own: { url: "https://a.example/", json: { a: ["{{txt}}"] } } },
      "own.json: has {{txt}}",
    ],
    ["json and body", { own: { url: "https://a.example/", json: {}, body: "x" } }, "own.body: goes without json"],
    [
      "a name that is none",
      { "My Channel": { url: "https://a.example/" } },
      'channels["My Channel"]: is no name of a channel',
    ],
    ["the name last", { last: { url: "https://a.example/" } }, "channels.last: is no name of a channel"],
    ["a mail without a server", { own: { kind: "email", from: "a@b.example" } }, "own.smtp: is required"],
    [
      "a sender that is no address",
      { own: { kind: "email", smtp: { host: "m" }, from: "Me <a@b.example>" } },
      "own.from: must be a mail address",
    ],
    [
      "a key of the other kind",
      { own: { kind: "email", smtp: { host: "m" }, from: "a@b.example", url: "https://a.example/" } },
      "own.url: has no effect for the kind email",
    ],
    [
      "a user without a password",
      { own: { kind: "email", smtp: { host: "m", user: "u" }, from: "a@b.example" } },
      "own.secret: is required with smtp.user",
    ],
  ])("are refused for %s", (_, channels, issue) => {
    expect(read(channels).issues.join("\n")).toContain(issue);
  });
});
