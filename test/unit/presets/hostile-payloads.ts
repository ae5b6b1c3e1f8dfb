/** Payloads as no sender promised them: all of them may arrive with a good signature. */
import fc from "fast-check";
import type { PresetSample } from "../../../src/presets/preset.ts";

/** No text looks like a mistake of ours. */
const text = fc.oneof(
  fc.constantFrom("", " \n\t", "<p></p>", "x\u0000x", "y".repeat(10_000), "\u{1F600}".repeat(3_000)),
  fc.stringMatching(/^[a-zA-Z0-9 é€"'_.-]{0,30}$/).map((word) => `x${word}x`),
);
const scalar = fc.constantFrom<unknown>(null, 0, -1, 4_900, 1.5, 1e308, true, false);
const key = fc.oneof(
  fc.constant(""),
  fc.stringMatching(/^[a-zA-Z_]{1,12}$/).map((name) => `k_${name}`),
);

/** Wrong in every way that JSON allows. */
export const anything: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    text,
    fc.constantFrom<unknown>([], {}, [null], [[]], [{}], { toString: "x", valueOf: 1 }, { length: 2, "0": "a" }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(key, tie("value"), { maxKeys: 4 }),
  ),
})).value;

/** A form that no one filled in as it was meant. */
export const anyForm: fc.Arbitrary<Readonly<Record<string, string>>> = fc.dictionary(
  fc.stringMatching(/^[a-zA-Z0-9._ -]{0,12}$/),
  text,
);

/** One of the samples in which some places hold anything, or nothing any more. */
export function bentSample(samples: readonly PresetSample[]): fc.Arbitrary<PresetSample> {
  return fc.constantFrom(...samples).chain((sample) => {
    const place = fc.constantFrom(...placesIn(sample.payload));
    const changes = fc.array(fc.tuple(place, fc.oneof(anything, fc.constant(undefined))), {
      minLength: 1,
      maxLength: 6,
    });
    return changes.map((list) => ({
      ...sample,
      payload: list.reduce((payload, [path, value]) => replaced(payload, path, value), sample.payload),
    }));
  });
}

/** The sample once for each of its places, without what is there. */
export function withOneMissing(sample: PresetSample): readonly PresetSample[] {
  return placesIn(sample.payload)
    .filter((path) => path.length > 0)
    .map((path) => ({ ...sample, payload: replaced(sample.payload, path, undefined) }));
}

type Path = readonly string[];

/** Where there is anything in a value, the whole of it first. */
function placesIn(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([name, child]) => placesIn(child, [...path, name]))];
}

/** A copy with something else in one place, if that is still there. */
function replaced(value: unknown, [first, ...rest]: Path, by: unknown): unknown {
  if (first === undefined) return by;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item, at) => (String(at) === first ? replaced(item, rest, by) : item));
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [name, name === first ? replaced(child, rest, by) : child]),
  );
}

/** Kinds of events that samples do not have, by the header or the key of the body that names them. */
const FURTHER_EVENTS: Readonly<Record<string, readonly string[]>> = {
  "x-github-event": [
    ..."check_run check_suite code_scanning_alert commit_comment create delete dependabot_alert deployment".split(" "),
    ..."deployment_status discussion discussion_comment fork gollum issues label member public pull_request".split(" "),
    ..."pull_request_review pull_request_review_comment pull_request_review_thread release repository star".split(" "),
    ..."repository_vulnerability_alert secret_scanning_alert security_advisory status watch workflow_job".split(" "),
    ..."workflow_dispatch team installation __proto__ constructor".split(" "),
  ],
  "x-gitea-event":
    "create delete fork issues pull_request_approved pull_request_rejected release repository wiki status".split(" "),
  "x-event-key": ["repo:commit_status_updated", "repo:commit_comment_created", "repo:fork", "issue:created", "x", ":"],
  "sentry-hook-resource": ["error", "comment", "activity_alert", "seer", "__proto__"],
  "x-shopify-topic": ["x", "constructor/prototype", "orders/", "/"],
  object_kind: "tag_push issue work_item build deployment release wiki_page feature_flag emoji toString".split(" "),
  type: ["Project", "AgentSessionEvent", "Reaction", "deployment.created", "domain.created", "valueOf", "x.y.z", "."],
  webhookEvent: ["jira:version_released", "sprint_started", "worklog_created", "comment_deleted"],
  event: ["x", "constructor.prototype", "__proto__", "."],
  event_type: ["x", "constructor.prototype", "__proto__", "."],
};

/** A sample as events of other kinds, wherever a preset reads the kind from. */
export function asOtherEvents(sample: PresetSample): readonly PresetSample[] {
  const { headers = {}, payload } = sample;
  if (typeof payload !== "object" || payload === null) return [];
  return Object.entries(FURTHER_EVENTS).flatMap<PresetSample>(([place, kinds]) => {
    if (place in headers) return kinds.map((kind) => ({ ...sample, headers: { ...headers, [place]: kind } }));
    if (typeof Reflect.get(payload, place) !== "string") return [];
    return kinds.map((kind) => ({ ...sample, payload: { ...payload, [place]: kind } }));
  });
}
