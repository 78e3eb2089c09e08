/** The steps by which {@linkcode pump} passes each piece on. */
interface Steps<T> {
  /** Resolves to the next piece, or to `undefined` at the end. */
  read(): Promise<Uint8Array | undefined>;
  /** Takes a piece, before the next one is read. */
  take(piece: Uint8Array): T;
  /**
   * Sums up and writes what `take` returned, while the next piece is read. Called in
   * the order of the pieces. `before` resolves once the previous piece is written, which
   * must be awaited before writing.
   */
  write(taken: T, before: Promise<void>): Promise<void>;
}

/** A running {@linkcode pump}. */
interface Pumping {
  /** Resolves when all pieces are written, and rejects with the first failure, also while `read` stalls. */
  readonly done: Promise<void>;
  /** Resolves when the last read and the last write have ended, also after a failure. */
  readonly settled: Promise<void>;
}

/**
 * Passes all pieces on: while one is read, the one before is summed up and the one
 * before that is written.
 *
 * @param signal Ends the work with its reason after the piece that is being read.
 */
export function pump<T>(
  steps: Steps<T>,
  signal: AbortSignal | undefined,
): Pumping {
  let fail!: (reason: unknown) => void;
  let finish!: () => void;
  const done = new Promise<void>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  let hasFailed = false;
  let before = Promise.resolve();
  let writing = before;

  function stop(reason: unknown): void {
    hasFailed = true;
    fail(reason);
  }

  function read(): Promise<Uint8Array | undefined> {
    const reading = steps.read();
    reading.catch(() => {}); // Handled once the piece before is written.
    return reading;
  }

  async function passAll(): Promise<void> {
    let reading = read();
    try {
      while (true) {
        const piece = await reading;
        // A source that was cancelled looks as if it had ended.
        signal?.throwIfAborted();
        if (hasFailed || piece === undefined) break;
        const taken = steps.take(piece);
        reading = read();
        before = writing;
        writing = steps.write(taken, before);
        writing.catch(stop);
        await before;
      }
      await writing;
      finish();
    } catch (error) {
      stop(error);
      await Promise.allSettled([reading, before, writing]);
    }
  }
  return { done, settled: passAll() };
}
