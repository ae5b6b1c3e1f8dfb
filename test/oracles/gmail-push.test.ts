import { gmailPush } from "../../src/presets/senders/google/gmail-push.ts";
import { describeGooglePush } from "./describe-google-push.ts";

describeGooglePush(gmailPush);
