import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import { standardWebhooks } from "../../src/presets/senders/standard-webhooks/standard-webhooks.ts";
import { receivedCall } from "../../src/testing/preset-probe.ts";
import { describeWhsecSender } from "./describe-whsec-sender.ts";

const recorder = describeWhsecSender({
  preset: standardWebhooks,
  library: "standardwebhooks",
  prefix: "webhook",
  verify: ({ headers, body }, secret) => new Webhook(secret).verify(body, { ...headers }),
  sign: (id, at, body, secret) => new Webhook(secret).sign(id, at, body),
  laxer: ["a time with letters behind it", "a time with a fraction"],
});

it("accepts the published vector of Standard Webhooks", async () => {
  const body = Buffer.from('{"test": 2432232314}');
  const signed = {
    url: "https://gateway.example.com/hooks/standard-webhooks",
    headers: {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    body,
  };
  for (const secret of ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]) {
    const call = receivedCall(signed, { receivedAt: 1_614_265_330_000 });
    const library = () => void new Webhook(secret).verify(body, signed.headers);
    expect(await recorder.judge(call, { secrets: [secret] }, library)).toEqual({ we: true, sdk: true });
  }
});
