/** The channel that sends each message as a mail. */
import { createHash } from "node:crypto";
import { addAbortListener } from "node:events";
import { isIPv4 } from "node:net";
import type { Transporter } from "nodemailer";
import { HostError } from "../../../core/host.ts";
import { reasonOf } from "../../../core/reason-of.ts";
import type { MessagePart, PartSender } from "./message-part.ts";

export interface EmailChannelConfig {
  readonly kind: "email";
  readonly host: string;
  readonly port: number;
  /** True: the connection begins with TLS. Otherwise it is upgraded, except on loopback. */
  readonly isTls: boolean;
  readonly user: string | undefined;
  readonly secret: string | undefined;
  readonly from: string;
  readonly subject: string;
  readonly maxChars: number;
  readonly timeoutMs: number;
}

/** One address and nothing else: no list, no name, no line end. */
const ADDRESS = /^[^\s@<>()[\],;:\\"]{1,64}@[^\s@<>()[\],;:\\"]{1,255}$/u;
/** Of the ids of messages: a name that no host has (RFC 2606). */
const ID_HOST = "reveille.invalid";

export function isMailAddress(text: string): boolean {
  return ADDRESS.test(text);
}

/** Sends over one connection pool, which is opened with the first message. */
export function emailSender(config: EmailChannelConfig): PartSender {
  let opened: Promise<Transporter> | undefined;
  return async (part, signal) => {
    if (!isMailAddress(part.to)) {
      throw new HostError(`${JSON.stringify(part.to.slice(0, 100))} is not a mail address.`, { retryable: false });
    }
    const transport = await (opened ??= open(config));
    const stopped = Promise.withResolvers<never>();
    using _stop = signal && addAbortListener(signal, () => stopped.reject(new Error("the gateway gave up the try")));
    try {
      // A mail that is under way may be taken all the same.
      await Promise.race([transport.sendMail(mailOf(config, part)), stopped.promise]);
    } catch (error) {
      throw mailFailure(part.channel, error);
    }
  };
}

/** The library is loaded only where a channel needs it. */
async function open({ host, port, isTls, user, secret, timeoutMs }: EmailChannelConfig): Promise<Transporter> {
  const { createTransport } = await import("nodemailer");
  const isLoopback = host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
  return createTransport({
    host,
    port,
    secure: isTls,
    requireTLS: !isTls && !isLoopback,
    ...(user === undefined || secret === undefined ? {} : { auth: { user, pass: secret } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Mails of one session are one thread; every try at a message has the same id. */
function mailOf({ from, subject }: EmailChannelConfig, { to, text, id, sessionKey, mark }: MessagePart): object {
  const thread = sessionKey === undefined ? undefined : idOf(`session ${sessionKey}`);
  return {
    from,
    to,
    subject,
    text,
    messageId: idOf(id),
    ...(thread === undefined ? {} : { inReplyTo: thread, references: thread }),
    // No vacation responder answers it (RFC 3834).
    headers: { "Auto-Submitted": "auto-generated", ...(mark === undefined ? {} : { "Reveille-Chain": mark }) },
  };
}

function idOf(key: string): string {
  return `<${createHash("sha256").update(key).digest("hex").slice(0, 32)}@${ID_HOST}>`;
}

/** Codes of an error of the connection, and of answers that begin with 4, say that the same mail may be taken later. */
const PERMANENT: ReadonlySet<string> = new Set(["EAUTH", "EENVELOPE", "EMESSAGE", "ENOAUTH", "ETLS"]);

function mailFailure(channel: string, error: unknown): HostError {
  const { code, responseCode, response } = (error ?? {}) as {
    readonly code?: string;
    readonly responseCode?: number;
    readonly response?: string;
  };
  const retryable = responseCode === undefined ? !PERMANENT.has(code ?? "") : responseCode >= 400 && responseCode < 500;
  const why = response ?? reasonOf(error);
  return new HostError(`The channel ${channel} could not send the mail: ${why.slice(0, 300)}.`, {
    retryable,
    cause: error,
  });
}
