import { expect, it } from "vitest";
import { EventWindow } from "../../../../src/hosts/embedded/event-window.ts";
import type { PendingEvent, TurnLimits } from "../../../../src/hosts/embedded/state/session-reads.ts";

/** Events with these ids, as the state gives them. */
function waiting(...ids: readonly number[]): (limits: TurnLimits) => Promise<readonly PendingEvent[]> {
  const events = ids.map((id) => ({ id, text: "t", time: "" }));
  return async ({ limit, after = 0 }) => events.filter(({ id }) => id > after).slice(0, limit);
}

const many = Array.from({ length: 150 }, (_, at) => at + 1);
const idsOf = async (window: EventWindow, read: Parameters<EventWindow["next"]>[0]): Promise<number[]> =>
  (await window.next(read)).map(({ id }) => id);

/** The next turn fails for good. */
async function refuse(window: EventWindow, read: Parameters<EventWindow["next"]>[0]): Promise<number> {
  const events = await window.next(read);
  window.refused(events);
  return events.length;
}

it("gives fewer events after each turn that failed, and those behind the one that failed alone", async () => {
  const window = new EventWindow();
  const read = waiting(...many);
  const given = [await refuse(window, read), await refuse(window, read), await refuse(window, read)];
  expect(given).toEqual([100, 10, 1]);
  expect(await idsOf(window, read)).toEqual(many.slice(1, 101));
});

it("gives the one that was passed over when nothing is behind it any more", async () => {
  const window = new EventWindow();
  await refuse(window, waiting(1));
  expect(await idsOf(window, waiting(1, 2))).toEqual([2]);
  window.taken();
  expect(await idsOf(window, waiting(1))).toEqual([1]);
});

it("gives as many as before after a turn without events that failed, and after one that was taken", async () => {
  const window = new EventWindow();
  await refuse(window, waiting());
  expect(await idsOf(window, waiting(...many))).toHaveLength(100);
  await refuse(window, waiting(...many));
  window.taken();
  expect(await idsOf(window, waiting(...many))).toHaveLength(100);
});
