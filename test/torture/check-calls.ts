import type { DeliveryDetail } from "../../src/core/delivery.ts";
import type { State } from "../../src/core/run.ts";
import { groupBy, markOf } from "./evidence.ts";
import type { Check } from "./evidence.ts";

const SETTLED: ReadonlySet<State> = new Set(["done", "duplicate", "coalesced"]);

/** Every call that was answered 2xx is listed, and everything that is listed has come to a good end. */
export const checkNothingIsLost: Check = ({ acknowledged, deliveries }) => {
  const listed = new Set(deliveries.map(({ id }) => id));
  return [
    ...acknowledged.flatMap(({ call, status, deliveryId }) =>
      deliveryId !== undefined && listed.has(deliveryId)
        ? []
        : [`${call.marks[0]} was answered ${status} as ${deliveryId} and is not listed.`],
    ),
    ...deliveries.flatMap(({ id, state, reason, name }) =>
      SETTLED.has(state) ? [] : [`${id} (${name}) ended as ${state}: ${reason}`],
    ),
  ];
};

/** A call that was sent again is the first delivery, and no second one. */
export const checkNothingIsTwice: Check = ({ acknowledged, deliveries }) => {
  const originals = deliveries.filter(({ state }) => state !== "duplicate");
  const accepted = groupBy(originals, markOf);
  const firsts = new Map<string | undefined, DeliveryDetail>(originals.map((delivery) => [delivery.id, delivery]));
  const answered = groupBy(acknowledged, ({ call }) => call.marks[0]);
  return [
    ...[...accepted].flatMap(([mark, twice]) =>
      twice.length === 1 ? [] : [`${mark} was accepted ${twice.length} times: ${twice.map(({ id }) => id).join(", ")}`],
    ),
    ...[...answered].flatMap(([mark, answers]) => {
      const ids = new Set(answers.map(({ deliveryId }) => deliveryId));
      return ids.size === 1 ? [] : [`${mark} was answered with several deliveries: ${[...ids].join(", ")}`];
    }),
    ...deliveries.flatMap((delivery) => {
      if (delivery.state !== "duplicate") return [];
      const { id, relatedTo } = delivery;
      const first = firsts.get(relatedTo?.deliveryId);
      if (relatedTo?.how !== "duplicate" || first === undefined) return [`${id} is a duplicate of nothing.`];
      // A wake has no name by which its repetition could be told.
      const mark = markOf(delivery);
      return mark === undefined || mark === markOf(first) ? [] : [`${id} (${mark}) is a duplicate of ${first.id}.`];
    }),
  ];
};

/** Each coalesced call is in the run that coalesced it, which counts it and says so. */
export const checkCoalescedCallsStand: Check = ({ deliveries, modelCalls }) => {
  const members = groupBy(deliveries, ({ state, relatedTo }) =>
    state === "coalesced" ? relatedTo?.deliveryId : undefined,
  );
  const gatherers = deliveries.filter(({ mappingId, state }) => mappingId === "burst" && state === "done");
  const known = new Set(gatherers.map(({ id }) => id));
  const prompts = modelCalls.filter(({ isTurn }) => !isTurn).map(({ prompt }) => prompt);
  return [
    ...deliveries.flatMap(({ id, state, relatedTo }) =>
      state !== "coalesced" || (relatedTo?.how === "coalesced" && known.has(relatedTo.deliveryId))
        ? []
        : [`${id} is coalesced into ${relatedTo?.deliveryId}, which is no run that gathered calls.`],
    ),
    ...gatherers.flatMap((gatherer) => {
      const calls = [gatherer, ...(members.get(gatherer.id) ?? [])];
      const counted = gatherer.runs[0]?.calls;
      if (counted !== calls.length) return [`${gatherer.id} counts ${counted} calls of ${calls.length}.`];
      const marks = calls.map((call) => markOf(call)!);
      const told = prompts.some((prompt) => marks.every((mark) => prompt.includes(`${mark},`)));
      return told ? [] : [`No prompt names all ${marks.length} calls of ${gatherer.id}.`];
    }),
  ];
};
