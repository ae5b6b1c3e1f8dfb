/** Entry of the writer thread. */
import { parentPort, workerData } from "node:worker_threads";
import { serveWriter } from "./writer.ts";
import type { WriterStart } from "./writer-thread.ts";

if (parentPort !== null) await serveWriter(parentPort, workerData as WriterStart);
