/** Sources and sinks that tell what happens to them, and fail or wait at will. */
import { assert, assertEquals } from "@std/assert";
import type { ByteReader, ByteWriter, Part } from "../../mod.ts";

/** A promise that never settles. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

/** Waits until everything has happened that waits for nothing from outside. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) {
    // A timer, since files take longer than turns of the event loop.
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

/** Whether memory is that of a Wasm module, which cannot be transferred. Other memory is transferred by this. */
export function isWasmMemory({ buffer }: Uint8Array): boolean {
  assert(buffer instanceof ArrayBuffer && !buffer.detached);
  try {
    buffer.transfer();
    return false;
  } catch {
    return true;
  }
}

/** A stream or a reader of pieces. */
export interface Source {
  readonly source: ReadableStream<Uint8Array> | ByteReader;
  /** How many pieces were asked for. */
  pulls: number;
  /** Why it was cancelled; for a reader `"closed"`. */
  readonly ends: unknown[];
}

export type SourceKind = "stream" | "reader";
export const SOURCE_KINDS: readonly SourceKind[] = ["stream", "reader"];
export type SinkKind = "stream" | "writer";
export const SINK_KINDS: readonly SinkKind[] = ["stream", "writer"];

/**
 * A source of pieces.
 *
 * @param on Is called with the place of each piece before the piece is given, and
 * with the number of pieces before the end; may throw or wait.
 */
export function probedSource(
  kind: SourceKind,
  pieces: readonly Uint8Array[],
  on: (piece: number) => unknown = () => {},
): Source {
  const ends: unknown[] = [];
  async function next() {
    const place = probe.pulls++;
    await on(place);
    return pieces[place];
  }
  const probe: Source = {
    pulls: 0,
    ends,
    source: kind === "reader"
      ? {
        async read(memory) {
          const piece = await next();
          if (piece !== undefined) memory.set(piece);
          return piece?.length ?? null;
        },
        close: () => void ends.push("closed"),
      }
      : new ReadableStream({
        async pull(controller) {
          const piece = await next();
          if (piece === undefined) controller.close();
          else controller.enqueue(piece);
        },
        cancel: (reason) => void ends.push(reason),
      }, { highWaterMark: 0 }),
  };
  return probe;
}

/** Asserts that a source was given up for a reason: a stream cancelled, a reader closed once. */
export function assertGivenUp(
  { source, ends }: Pick<Source, "source" | "ends">,
  reason: unknown,
  message = "",
): void {
  const isStream = source instanceof ReadableStream;
  assertEquals(ends, [isStream ? reason : "closed"], message);
}

/** The sinks of parts, as streams or as writers. */
export class Sinks {
  /** All events but writes, such as `open .0`, `close .0` and `abort .0`. */
  readonly log: string[] = [];
  /** The bytes of each part by its key suffix. */
  readonly written: Record<string, number[]> = {};
  /** Why sinks were aborted. */
  readonly reasons: unknown[] = [];
  readonly #isStream: boolean;
  readonly #on: (event: string) => unknown;

  /** @param on Is called with each event before it happens, writes included; may throw or wait. */
  constructor(kind: SinkKind, on: (event: string) => unknown = () => {}) {
    this.#isStream = kind === "stream";
    this.#on = on;
  }

  /** The bytes of all parts in the order in which the parts were opened. */
  get all(): number[] {
    return Object.values(this.written).flat();
  }

  /** The parts to which an event happened, such as `".0"`. */
  partsOf(event: "open" | "close" | "abort"): string[] {
    return this.log.filter((entry) => entry.startsWith(event))
      .map((entry) => entry.slice(event.length + 1));
  }

  /** Asserts that all parts that were opened were aborted for a reason, and none was closed. */
  assertAborted(reason: unknown, message = ""): void {
    assertEquals(this.partsOf("close"), [], message);
    assertEquals(this.partsOf("abort"), this.partsOf("open"), message);
    for (const found of this.reasons) assert(found === reason, message);
  }

  readonly open = async (
    { keySuffix }: Part,
  ): Promise<WritableStream<Uint8Array> | ByteWriter> => {
    const happen = async (event: string) => {
      const entry = `${event} ${keySuffix}`;
      await this.#on(entry);
      if (event !== "write") this.log.push(entry);
    };
    await happen("open");
    const written: number[] = this.written[keySuffix] = [];
    const write = async (bytes: Uint8Array) => {
      await happen("write");
      written.push(...bytes);
      return bytes.length;
    };
    const close = () => happen("close");
    const abort = (reason: unknown) => {
      this.reasons.push(reason);
      return happen("abort");
    };
    if (!this.#isStream) return { write, close, abort };
    return new WritableStream({
      write: async (bytes) => void await write(bytes),
      close,
      abort,
    });
  };
}

/** Counts the listeners of a signal from now on. */
export function listenersOf(
  signal: AbortSignal,
): { added: number; readonly present: number } {
  const present = new Set<unknown>();
  const counts = {
    added: 0,
    get present() {
      return present.size;
    },
  };
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...[type, listener, options]: unknown[]) => {
    counts.added++;
    present.add(listener);
    Reflect.apply(addEventListener, signal, [type, listener, options]);
  };
  signal.removeEventListener = (...[type, listener]: unknown[]) => {
    present.delete(listener);
    Reflect.apply(removeEventListener, signal, [type, listener]);
  };
  return counts;
}

/** One test for each name of a table. */
export function each<T>(
  name: (key: string) => string,
  table: Readonly<Record<string, T>>,
  run: (item: T, key: string) => void | Promise<void>,
): void {
  for (const [key, item] of Object.entries(table)) {
    Deno.test(name(key), async () => await run(item, key));
  }
}
