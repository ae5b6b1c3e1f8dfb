const BYTES = 5 * 1_024;
const COMMIT = {
  id: "7fd1a60b01f91b314f59955a4e4d4e80d8edf11d",
  message: "Repair the build",
  author: { name: "ada", email: "ada@example.com", username: "ada-l" },
  added: ["src/a.ts"],
  modified: ["src/b.ts", "test/b.test.ts"],
};

/** What a forge might send of a push, 5 KiB of JSON. */
export function pushPayload(): object {
  const payload = { ref: "refs/heads/main", mode: "next-heartbeat", commits: [COMMIT], note: "" };
  while (JSON.stringify(payload).length + JSON.stringify(COMMIT).length < BYTES) payload.commits.push(COMMIT);
  return { ...payload, note: "x".repeat(BYTES - JSON.stringify(payload).length) };
}

/** A transform as people write them: it looks at the payload, and says something of it. */
export const PUSH_TRANSFORM = `
export default ({ payload }) => {
  if (payload.ref !== "refs/heads/main") return null;
  const authors = new Set(payload.commits.map(({ author }) => author.name));
  const files = payload.commits.flatMap(({ added, modified }) => [...added, ...modified]);
  return { text: [...authors].join(", ") + " pushed " + payload.commits.length + " commits, files: " + files.length };
};
`;
