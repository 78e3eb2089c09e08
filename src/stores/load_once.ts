/**
 * Returns a function that loads a module when it is first called. Further calls
 * return the same promise, which is faster than `import()` each time; after a failed
 * load, the next call tries again.
 */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () =>
    loaded ??= load().catch((error) => {
      loaded = undefined;
      throw error;
    });
}
