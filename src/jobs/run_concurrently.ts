/**
 * Runs a task on each item, a number of them at once. The first failure aborts the
 * signal of all tasks, and is thrown once all of them have ended.
 *
 * @param signal Ends the work with its reason.
 */
export async function runConcurrently<T>(
  items: Iterable<T> | AsyncIterable<T>,
  concurrency: number,
  task: (item: T, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const failing = new AbortController();
  const either = signal === undefined
    ? failing.signal
    : AbortSignal.any([signal, failing.signal]);
  const iterator = iterate(items);
  const work = async () => {
    try {
      while (true) {
        either.throwIfAborted();
        const { done, value } = await iterator.next();
        if (done) return;
        await task(value, either);
      }
    } catch (error) {
      if (!failing.signal.aborted) failing.abort(error);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  await iterator.return(undefined);
  signal?.throwIfAborted();
  failing.signal.throwIfAborted();
}

/** An iterator that may be asked for the next item before it has given the last one. */
async function* iterate<T>(
  items: Iterable<T> | AsyncIterable<T>,
): AsyncGenerator<T, undefined> {
  yield* items;
  return undefined;
}
