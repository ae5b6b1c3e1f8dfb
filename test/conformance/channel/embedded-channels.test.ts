import { describeChannel } from "./describe-channel.ts";
import { HTTP_CHANNELS } from "./http-platforms.ts";
import { MAIL_CHANNEL } from "./mail-server.ts";

for (const channel of [...HTTP_CHANNELS, MAIL_CHANNEL]) describeChannel(channel);
