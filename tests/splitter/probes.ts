import { assert } from "@std/assert";
import type { ByteReader, ByteWriter, Part } from "../../mod.ts";
export { instancesInUse } from "../../src/splitter/wasm_instance.ts";

export function never(): Promise<never> {
  return new Promise(() => {});
}

/** Lets everything go on that waits for nothing from outside. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) {
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

/** Whether memory is that of a Wasm module, which alone cannot be transferred. Takes away other memory. */
export function isWasmMemory({ buffer }: Uint8Array): boolean {
  assert(buffer instanceof ArrayBuffer && !buffer.detached);
  try {
    buffer.transfer();
    return false;
  } catch {
    return true;
  }
}

/** A stream or a reader of pieces, and what becomes of it. */
export interface Source {
  readonly source: ReadableStream<Uint8Array> | ByteReader;
  /** How many pieces were asked for. */
  pulls: number;
  /** The reasons of its cancellation; of a reader "closed". */
  readonly ends: unknown[];
}

export type Kind = "stream" | "reader";
export const KINDS: Kind[] = ["stream", "reader"];

/** @param on Told the place of each piece before it is given; may throw or wait. */
export function probedSource(
  kind: Kind,
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

export type Event = "open" | "write" | "close" | "abort";

/** Sinks for parts, as streams or as writers, and what becomes of them. */
export class Sinks {
  /** What happened except writes, as `open .0`. */
  readonly log: string[] = [];
  readonly written: Record<string, number[]> = {};
  readonly reasons: unknown[] = [];
  readonly #isStream: boolean;
  readonly #on: (event: `${Event} .${number}`) => unknown;

  /** @param on Told what is about to happen; may throw or wait. */
  constructor(
    kind: "stream" | "writer",
    on: (event: `${Event} .${number}`) => unknown = () => {},
  ) {
    this.#isStream = kind === "stream";
    this.#on = on;
  }

  readonly open = async (
    { keySuffix }: Part,
  ): Promise<WritableStream<Uint8Array> | ByteWriter> => {
    const happen = async (event: Event) => {
      const entry = `${event} ${keySuffix}` as `${Event} .${number}`;
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
