/** What work gives, unless a signal aborts or something else fails before. The work itself goes on. */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  failure?: Promise<never>,
): Promise<T> {
  let stop!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal!.reason);
  });
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop(); // By what began the work.
  try {
    return await Promise.race([work, aborted, ...failure ? [failure] : []]);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}
