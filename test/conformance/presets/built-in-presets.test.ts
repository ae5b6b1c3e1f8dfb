import type { PresetSettings } from "../../../src/config/preset.ts";
import { BUILT_IN_PRESETS } from "../../../src/presets/built-in.ts";
import { describePreset } from "../../../src/testing/describe-preset.ts";

/** Values for the settings that presets require. */
const SETTINGS: Readonly<Record<string, PresetSettings>> = {
  "aws-sns": { topicArns: ["arn:aws:sns:eu-central-1:123456789012:alerts"] },
  "gmail-push": { audience: "https://gateway.example.com", serviceAccount: "push@project.iam.gserviceaccount.com" },
  "google-chat": { audience: "1234567890" },
  "google-pubsub": { audience: "https://gateway.example.com", serviceAccount: "push@project.iam.gserviceaccount.com" },
  meta: { verifyToken: "verify-token-of-the-tests" },
  paypal: { webhookId: "8PT597110X687430LKGECATA" },
};

for (const preset of BUILT_IN_PRESETS) describePreset(preset, { settings: SETTINGS[preset.name] ?? {} });
