import { googlePubsub } from "../../src/presets/senders/google/google-pubsub.ts";
import { describeGooglePush } from "./describe-google-push.ts";

describeGooglePush(googlePubsub);
