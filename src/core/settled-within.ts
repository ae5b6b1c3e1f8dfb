/** Waits for a promise that never rejects, at most so long. */
export async function settledWithin(promise: Promise<unknown>, waitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(resolve, waitMs);
  });
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}
