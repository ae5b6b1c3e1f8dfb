import type { SandboxLoadFailure } from "./messages.ts";

/** The modules of a file, by their places. */
interface TriedFile {
  readonly places: readonly number[];
}

interface FailuresAmongOptions<File> {
  /** Files that are judged by themselves at the same time. */
  readonly atOnce: number;
  /** Loads files one after the other in one process, and resolves to what fails of them. */
  readonly load: (files: readonly File[]) => Promise<readonly SandboxLoadFailure[]>;
}

/**
 * Finds what does not load of files that are loaded in one process, since that takes a fraction of the time, but have
 * nothing to do with each other: what one leaves behind in it (a frozen prototype, a loop in a timer) may break the
 * next one, so each that fails among others is judged by itself.
 */
export async function failuresAmong<File extends TriedFile>(
  files: readonly File[],
  { atOnce, load }: FailuresAmongOptions<File>,
): Promise<readonly SandboxLoadFailure[]> {
  const found: SandboxLoadFailure[] = [];
  let left = files;
  while (left.length > 0) {
    const failures = await load(left);
    const failed = left.filter(({ places }) => failures.some(({ module }) => places.includes(module)));
    if (left.length === 1 || failed.length === 0) return [...found, ...failures];
    for (let at = 0; at < failed.length; at += atOnce) {
      const some = failed.slice(at, at + atOnce);
      found.push(...(await Promise.all(some.map((file) => load([file])))).flat());
    }
    // One that has ended the process kept those behind it from being tried.
    left = left.filter((file) => !failed.includes(file));
  }
  return found;
}
