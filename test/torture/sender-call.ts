import { createHmac } from "node:crypto";
import type { Mark, Sender } from "./call-mark.ts";
import { laneOf } from "./call-mark.ts";
import { GITHUB_SECRET, HOOK_TOKEN, STRIPE_SECRET } from "./torture-config.ts";

/** A call as its sender makes it, as often as it takes. */
export interface SenderCall {
  readonly sender: Sender;
  /** One for each run that is to come of it. */
  readonly marks: readonly Mark[];
  readonly path: string;
  readonly body: string;
  /** The headers of one try; a sender that signs the time signs each try again. */
  headers(): Readonly<Record<string, string>>;
}

/** Puts a call together as the documentation of its sender has it. */
export function makeCall(sender: Sender, marks: readonly Mark[]): SenderCall {
  const mark = marks[0]!;
  const lane = laneOf(mark);
  const own = { sender, marks };
  const byToken = { authorization: `Bearer ${HOOK_TOKEN}`, "idempotency-key": mark };
  switch (sender) {
    case "github": {
      // https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers
      const body = JSON.stringify({ action: "opened", mark, lane });
      const signature = `sha256=${hmac(GITHUB_SECRET, body)}`;
      const headers = {
        "x-github-event": "issues",
        "x-github-delivery": `delivery-of-${mark}`,
        "x-hub-signature-256": signature,
      };
      return { ...own, path: "/hooks/github", body, headers: () => headers };
    }
    case "stripe": {
      // https://docs.stripe.com/webhooks#verify-manually
      const body = JSON.stringify({ id: `evt_${mark}`, object: "event", type: "invoice.paid", mark, lane });
      return {
        ...own,
        path: "/hooks/stripe",
        body,
        headers: () => {
          const seconds = Math.floor(Date.now() / 1_000);
          return { "stripe-signature": `t=${seconds},v1=${hmac(STRIPE_SECRET, `${seconds}.${body}`)}` };
        },
      };
    }
    case "shell": {
      const quiet = { wakeMode: "next-heartbeat", deliver: false, sessionKey: `hook:${lane}` };
      const body = JSON.stringify({ message: `This is ${mark}, and nothing else.`, name: mark, ...quiet });
      return { ...own, path: "/hooks/agent", body, headers: () => byToken };
    }
    case "wake": {
      const body = JSON.stringify({ text: `This is ${mark}, and nothing else.`, mode: "now" });
      return { ...own, path: "/hooks/wake", body, headers: () => byToken };
    }
    case "batch": {
      const body = JSON.stringify({ items: marks.map((item) => ({ mark: item, lane: laneOf(item) })) });
      return { ...own, path: "/hooks/batch", body, headers: () => byToken };
    }
    case "burst":
    case "flaky":
    case "report":
      return { ...own, path: `/hooks/${sender}`, body: JSON.stringify({ mark, lane }), headers: () => byToken };
  }
}

function hmac(secret: string, content: string): string {
  return createHmac("sha256", secret).update(content).digest("hex");
}
