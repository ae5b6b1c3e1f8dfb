import type { ReplyTarget } from "../core/run.ts";
import { refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";
import type { ChannelTarget, HostChannels } from "../core/host.ts";

/**
 * Fixes the target of a reply permanently, when the call is accepted.
 *
 * `last` is the channel and recipient of the agent's last conversation, and without one the first
 * channel of the gateway. A named channel without `to` goes to its last recipient, else to its
 * default one. Without a target the run still happens and its reply is kept. While the host cannot say whom the last
 * conversation was with, the call is refused, and its sender tries again.
 */
export function resolveTarget(
  channels: HostChannels,
  wanted: WantedTarget,
): ReplyTarget | Refusal | Promise<ReplyTarget | Refusal> {
  const last = channels.lastRoute(wanted.agentId);
  if (!(last instanceof Promise)) return chooseTarget(channels, wanted, last);
  return last.then(
    (read) => chooseTarget(channels, wanted, read),
    () => refuse("STORE_UNAVAILABLE"),
  );
}

interface WantedTarget {
  readonly channel: string;
  readonly to: string | undefined;
  readonly agentId: string;
}

function chooseTarget(
  channels: HostChannels,
  wanted: WantedTarget,
  last: ChannelTarget | undefined,
): ReplyTarget | Refusal {
  const known = channels.list();
  const name = wanted.channel.toLowerCase();
  const channel =
    name === "last"
      ? (known.find(({ id }) => id === last?.channel) ?? known[0])
      : known.find(({ id }) => id.toLowerCase() === name);
  if (!channel) {
    if (name === "last") return { unresolved: "The gateway has no channel." };
    const names = ["last", ...known.map(({ id }) => id)].join(", ");
    return refuse("UNKNOWN_CHANNEL", `channel must be one of ${names}.`);
  }
  const lastHere = last?.channel === channel.id ? last : undefined;
  const to = wanted.to ?? lastHere?.to ?? channel.defaultTo;
  // The last conversation is more than its recipient: an account of the channel, and a thread.
  if (lastHere !== undefined && to === lastHere.to) return { ...lastHere };
  if (to === undefined) {
    return { unresolved: `There is no recipient on channel "${channel.id}": set "to" in the call or the mapping.` };
  }
  return { channel: channel.id, to };
}
