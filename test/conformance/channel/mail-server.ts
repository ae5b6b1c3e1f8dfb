import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";
import type { ChannelUnderTest } from "./describe-channel.ts";
import { Platform } from "./platform.ts";

/** A mail server on loopback that speaks SMTP. */
export class MailServer extends Platform {
  /** The headers of each mail, as they came. */
  readonly heads: string[] = [];
  readonly #server: SMTPServer;

  static async listen(): Promise<MailServer> {
    const server = new MailServer();
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server.server, "listening");
    return server;
  }

  private constructor() {
    super();
    this.#server = new SMTPServer({
      authOptional: true,
      closeTimeout: 100,
      disabledCommands: ["STARTTLS"],
      onRcptTo: (_address, _session, done) => {
        const mood = this.nextMood();
        if (mood === "is silent") return;
        if (mood === "is busy") done(Object.assign(new Error("Mailbox is full, try later"), { responseCode: 452 }));
        else if (mood === "fails") done(Object.assign(new Error("Local error"), { responseCode: 451 }));
        else if (mood === "refuses") done(Object.assign(new Error("No such user here"), { responseCode: 550 }));
        else done();
      },
      onData: (stream, _session, done) => {
        void text(stream).then((mail) => {
          const [head = "", ...body] = mail.split("\r\n\r\n");
          this.heads.push(head);
          this.taken.push(decode(head, body.join("\r\n\r\n")));
          done();
        });
      },
    });
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(resolve));
  }
}

function decode(head: string, body: string): string {
  const unwrapped = body.replaceAll("\r\n", "\n").trimEnd();
  if (/content-transfer-encoding: base64/iu.test(head)) return Buffer.from(body, "base64").toString().trimEnd();
  if (!/content-transfer-encoding: quoted-printable/iu.test(head)) return unwrapped;
  const bytes = unwrapped
    .replaceAll("=\n", "")
    .replaceAll(/=([0-9A-F]{2})/gu, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString();
}

export const MAIL_CHANNEL: ChannelUnderTest = {
  name: "email",
  limit: 2_000,
  retryAfterMs: undefined,
  problem: "550 No such user here",
  secrets: ["password-of-the-mailbox"],
  shown: { markdown: "**Red** _since_ [build 7](https://ci.example/7) `a<b`", hostile: undefined },
  to: "owner@example.com",
  open: async () => {
    const platform = await MailServer.listen();
    return {
      platform,
      written: {
        kind: "email",
        smtp: { host: "127.0.0.1", port: platform.port },
        from: "agent@example.com",
        maxChars: 2_000,
      },
    };
  },
};
