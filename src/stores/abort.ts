/**
 * Settles as a promise does, or rejects earlier, once the signal aborts or
 * `failure` rejects. The work behind the promise goes on.
 */
export function rejectOnAbort<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  failure?: Promise<never>,
): Promise<T> {
  return signal === undefined && failure === undefined
    ? work
    : raceWithAbort(work, signal, failure);
}

async function raceWithAbort<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  failure: Promise<never> | undefined,
): Promise<T> {
  let stop!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal!.reason);
  });
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop(); // Starting the work may have aborted the signal.
  try {
    return await Promise.race([work, aborted, ...failure ? [failure] : []]);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}
