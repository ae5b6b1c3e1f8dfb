/**
 * What `ask` returns, asked for once in a turn of the event loop: all requests of one turn share the answer. What it
 * throws is thrown on, and asked for again by the next call.
 */
export function memoizePerTick<Value>(ask: () => Value): () => Value {
  let answer: { readonly value: Value } | undefined;
  const forget = (): void => (answer = undefined);
  return () => {
    if (answer === undefined) {
      answer = { value: ask() };
      setImmediate(forget);
    }
    return answer.value;
  };
}
