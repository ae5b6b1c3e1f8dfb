/** Payloads that no sender promised: every one of them may arrive with a good signature. */
export const HOSTILE_PAYLOADS: readonly unknown[] = [
  {},
  [],
  [null],
  [[]],
  [{}],
  { type: null, event: null, action: {}, data: null },
  { type: 1, event: [], action: true, data: "text", payload: 7, object: [] },
  { event: { type: {} }, data: { object: null, id: {} }, message: { from: null, data: "%%%" }, sender: [] },
  { repository: null, sender: 1, commits: {}, alerts: {}, entry: [{ changes: null }, null], messages: "none" },
  { payload: "{not json", Message: "{", body: "\u0000\uD800", text: "x".repeat(50_000) },
  JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{}},"toString":"x","hasOwnProperty":1}'),
];
