import { useEffect, useRef } from "preact/hooks";

interface Stoppable {
  /** Begins work; the answer says whether it goes on, until it is stopped or other work begins. */
  readonly begin: () => () => boolean;
  readonly stop: () => void;
}

/** Work of many requests: who sees it can stop it, and it stops where its page is left, since no one sees it there. */
export function useStoppable(): Stoppable {
  const latest = useRef(0);
  const stop = (): void => {
    latest.current++;
  };
  useEffect(() => stop, []);
  const begin = (): (() => boolean) => {
    const own = ++latest.current;
    return () => own === latest.current;
  };
  return { begin, stop };
}
