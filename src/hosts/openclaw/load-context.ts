import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Runs a function in the async context in which the host has loaded this package. The context of a
 * service's start may be that of an earlier start, which the host then takes for one that has ended: its
 * watch of the configuration goes on in whatever context woke it. To be imported by the entry, since only
 * the first import is early enough.
 */
export const inLoadContext: <Result>(run: () => Result) => Result = AsyncLocalStorage.snapshot();
