/** Entry of the reader thread. */
import { parentPort, workerData } from "node:worker_threads";
import type { ReaderStart } from "./reader-thread.ts";
import { serveReader } from "./serve-reader.ts";

if (parentPort !== null) await serveReader(parentPort, workerData as ReaderStart);
