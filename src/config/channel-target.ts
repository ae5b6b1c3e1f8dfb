import Type from "typebox";
import type { ChannelInfo } from "../core/host.ts";
import type { Findings } from "./errors.ts";
import { text } from "./schema-parts.ts";
import { showNames, showValue } from "./show-value.ts";

/** The schema of a channel and a recipient other than the usual ones. */
export const channelTarget = (description: string) =>
  Type.Object(
    {
      channel: text({
        description: "`last` or the id of a channel of the gateway.",
        title: "the name of a channel",
        pattern: "\\S",
      }),
      to: Type.Optional(
        text({ description: "Recipient on that channel. Absent: the channel's own, or that of the last message." }),
      ),
    },
    { additionalProperties: false, description },
  );

/** A channel and a recipient, as `fallback` and `hooks.notices` name them. */
export interface ChannelChoice {
  readonly channel: string;
  /** Absent: the recipient of the channel itself, or that of the last message. */
  readonly to: string | undefined;
}

/** Reads a channel and a recipient. */
export function readTarget({ channel, to }: { channel: string; to?: string }): ChannelChoice {
  return { channel: channel.trim(), to: to?.trim() || undefined };
}

/** Refuses a channel that the gateway does not have. */
export function checkChannel(
  channel: string,
  path: string,
  channels: readonly ChannelInfo[] | undefined,
  findings: Findings,
): void {
  if (channels === undefined) return;
  const known = ["last", ...channels.map(({ id }) => id)];
  const wanted = channel.toLowerCase();
  if (known.some((id) => id.toLowerCase() === wanted)) return;
  findings.refuseReference(
    path,
    `${showValue(channel)} is not a channel of this gateway; known are ${showNames(known)}`,
  );
}
