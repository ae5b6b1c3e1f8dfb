import type { HostileModule } from "./hostile-module.ts";

const OUT_OF_MEMORY =
  /used more than 160 MB of memory|ran out of its JavaScript heap of 80 MB|Array buffer allocation failed/;

/** Those that use up memory, for which a machine that is busy needs more time than one call has otherwise. */
export const memoryBombs: readonly HostileModule[] = [
  {
    name: "a heap bomb",
    source: `export default () => {
      const held = [];
      for (;;) held.push(Array.from({ length: 1_000 }, (_, at) => ({ at, text: "x" + at })));
    };`,
    reason: OUT_OF_MEMORY,
  },
  {
    name: "a Buffer bomb",
    source: `export default () => {
      const held = [];
      for (;;) held.push(Buffer.alloc(1_048_576, 1));
    };`,
    reason: OUT_OF_MEMORY,
  },
  {
    name: "a Buffer bomb that takes breaths",
    source: `export default async () => {
      const held = [];
      for (;;) {
        held.push(Buffer.alloc(4_194_304, 1));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };`,
    reason: OUT_OF_MEMORY,
  },
  {
    name: "a bomb of WebAssembly memory",
    source: `export default () => {
      const held = [];
      for (;;) {
        const memory = new WebAssembly.Memory({ initial: 256 });
        new Uint8Array(memory.buffer).fill(1);
        held.push(memory);
      }
    };`,
    reason: /used more than 160 MB of memory|RangeError/,
  },
  {
    name: "a result of 100 MB",
    source: `export default () => ({ message: "x".repeat(100_000_000) });`,
    reason:
      /returned 1000000\d\d bytes; hooks\.transforms\.maxResultBytes allows 262144|out of its JavaScript heap|memory/,
  },
];
