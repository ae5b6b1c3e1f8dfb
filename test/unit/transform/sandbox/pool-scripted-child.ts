import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PoolSnapshot } from "./pool-snapshot.ts";

/**
 * What a scripted child can do: `say` an object, `raw` bytes, `read` a frame; `load` is how a good one begins, and
 * `take` how it begins a call, whose `id` it then has.
 */
const HEAD = `
import { readSync, writeSync } from "node:fs";
const exactly = (length) => {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    try {
      const read = readSync(3, bytes, at, length - at);
      if (read === 0) process.exit(0);
      at += read;
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
  return bytes;
};
const read = () => {
  const head = exactly(8);
  const json = JSON.parse(exactly(head.readUInt32LE(0)).toString());
  return { ...json, body: exactly(head.readUInt32LE(4)) };
};
const raw = (bytes) => {
  for (let at = 0; at < bytes.length; ) {
    try { at += writeSync(3, bytes, at); } catch (error) { if (error.code !== "EAGAIN") throw error; }
  }
};
const frame = (text) => {
  const json = Buffer.from(text);
  const head = Buffer.alloc(8);
  head.writeUInt32LE(json.length, 0);
  return Buffer.concat([head, json]);
};
const say = (reply) => raw(frame(JSON.stringify(reply)));
let id;
const take = () => {
  id = read().id;
  say({ is: "begun", id });
};
const load = () => {
  say({ is: "up" });
  const request = read();
  say({ is: "loading", module: 0 });
  say({ is: "loaded", failures: [] });
  return request;
};
`;

/** Writes a child that a pool runs in the place of the sandbox's worker, and tells where it is. */
export function scriptedChild(snapshot: PoolSnapshot, script: string): string {
  const folder = join(snapshot.path, "child");
  mkdirSync(folder, { recursive: true });
  const entry = join(folder, "child.mjs");
  writeFileSync(entry, `${HEAD}\n${script}`);
  return entry;
}
