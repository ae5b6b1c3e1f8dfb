import { FAULT_VARIABLE } from "./fault-steps.ts";

const DURING_MS = 3;
const [step, moment, time] = (process.env[FAULT_VARIABLE] ?? "").split(":");
const fatalTime = Number(time ?? 1);
let times = 0;

/** The step at which this process is to die; `undefined`: it lives. */
export const fatalStep: string | undefined = step === "" ? undefined : step;

/** A function of any kind, as fault points see it. */
export type Step = (this: unknown, ...args: unknown[]) => unknown;

/** The same function, under which the process kills itself when it is the fatal step. */
export function faulty(name: string, real: Step): Step {
  if (name !== fatalStep) return real;
  return function (...args) {
    times++;
    if (times !== fatalTime) return Reflect.apply(real, this, args);
    if (moment === "before") die();
    if (moment === "during") setTimeout(die, DURING_MS);
    const result = Reflect.apply(real, this, args);
    if (moment !== "after") return result;
    if (result instanceof Promise) return result.finally(die);
    die();
    return result;
  };
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}
