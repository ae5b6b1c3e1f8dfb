/** Entry of the checkpoint thread. */
import { parentPort, workerData } from "node:worker_threads";
import { serveCheckpoints } from "./serve-checkpoints.ts";

if (parentPort !== null) serveCheckpoints(parentPort, workerData as { readonly file: string });
