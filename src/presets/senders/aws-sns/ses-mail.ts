import { joinText, listAt, textAt, valueAt } from "../../../core/payload-text.ts";
import { lineAt, namesAt } from "../../message/headline.ts";
import { mailHeaders, mailLines, provenMailActor, singleAddress } from "../../message/mail.ts";
import { decodeWords, fromHeaders, type MimeMail, readMime } from "../../message/mime.ts";
import type { EventActor } from "../../preset.ts";

const CHECKS = ["spf", "dkim", "dmarc", "spam", "virus"];

/**
 * A mail that SES received and published to the topic. Its text is in the notification only when the
 * receipt rule has an SNS action; other actions name where the mail is.
 */
export function receivedMail(message: unknown): { lines: readonly string[]; actor: EventActor | undefined } {
  const given = mailHeaders(
    listAt(message, "mail.headers").map((header) => [textAt(header, "name"), textAt(header, "value")]),
  );
  const source = sourceOf(message);
  const own = fromHeaders(given.size > 0 ? given : (source?.headers ?? given));
  const from = own.from || lineAt(message, "mail.commonHeaders.from[0]", "mail.source");
  // As SES checked it: an encoded word can look like another address once it is decoded.
  const raw = given.get("from") ?? "";
  const passed = lineAt(message, "receipt.dmarcVerdict.status") === "PASS";
  const autoSubmitted = given.get("auto-submitted") ?? source?.headers.get("auto-submitted");
  return {
    actor: provenMailActor(raw || from, { autoSubmitted, isProven: passed && singleAddress(raw) !== "" }),
    lines: [
      ...mailLines({
        ...own,
        from,
        to: own.to || namesAt(message, "receipt.recipients"),
        subject: decodeWords(textAt(message, "mail.commonHeaders.subject") || (given.get("subject") ?? "")),
        verdicts: CHECKS.map((check) => verdict(message, check)),
        files: source?.files,
        text: source?.text,
        html: source?.html,
      }),
      source === undefined ? whereText(message) : "",
      `SES id: ${lineAt(message, "mail.messageId")}`,
    ],
  };
}

function sourceOf(message: unknown): MimeMail | undefined {
  const content = valueAt(message, "content");
  if (typeof content !== "string" || content === "") return undefined;
  const isBase64 = textAt(message, "receipt.action.encoding").toUpperCase() === "BASE64";
  return readMime(Buffer.from(content, isBase64 ? "base64" : "utf8"));
}

/** `SPF pass`; a mail that was not checked (`GRAY`, `DISABLED`) says that too. */
function verdict(message: unknown, check: string): string {
  const status = lineAt(message, `receipt.${check}Verdict.status`).toLowerCase().replaceAll("_", " ");
  const name = check === "spam" || check === "virus" ? `${check} check` : check.toUpperCase();
  return status === "" ? "" : `${name} ${status}`;
}

function whereText(message: unknown): string {
  const place = joinText(
    "/",
    lineAt(message, "receipt.action.bucketName"),
    lineAt(message, "receipt.action.objectKey"),
  );
  return place === "" ? "Its text is not in the notification." : `Its text is in S3: ${place}`;
}
