import type { Store, StoreKey } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { propertyCases } from "./conformance_property.ts";
import { readingCases } from "./conformance_reading.ts";
import { writingCases } from "./conformance_writing.ts";

/** A fresh, empty store; `fill` puts a value into it, past the store if that is read-only. */
export interface OpenedStore {
  store: Store;
  fill(key: StoreKey, bytes: Uint8Array): Promise<void>;
  close?(): Promise<void>;
}

export interface StoreTestOptions {
  /** The fewest bytes that a value of the store can have; 0 if not given. */
  smallest?: number;
  /** Offsets where the store joins pieces: ranges are tried around each. */
  boundaries?: readonly number[];
}

/** What a case works with. */
export interface Subject extends OpenedStore {
  /** A value of so many bytes more than the fewest; another `first`, other bytes. */
  value(more: number, first?: number): Uint8Array;
  boundaries: readonly number[];
}

export interface Case {
  name: string;
  /** The methods without which the case does not apply. */
  needs: readonly (keyof Store)[];
  run(subject: Subject, open: () => Promise<Subject>): Promise<void>;
}

/** Tests everything that every {@linkcode Store} promises, of what this one has. */
export function testStore(
  name: string,
  open: () => Promise<OpenedStore>,
  { smallest = 0, boundaries = [] }: StoreTestOptions = {},
): void {
  const openSubject = async (): Promise<Subject> => ({
    ...await open(),
    value: (more, first) => countingBytes(smallest + more, first),
    boundaries,
  });
  Deno.test(`${name} is a store as all others`, async (t) => {
    const { store, close } = await openSubject();
    await close?.();
    const cases = [...readingCases, ...writingCases, ...propertyCases];
    for (const { name, needs, run } of cases) {
      if (needs.some((method) => typeof store[method] !== "function")) continue;
      await t.step(name, async () => {
        const subject = await openSubject();
        try {
          await run(subject, openSubject);
        } finally {
          await subject.close?.();
        }
      });
    }
  });
}

/** What no store takes for a key. */
export const HOSTILE_KEYS = [
  "",
  "x",
  "/",
  "//",
  "/..",
  "/../x",
  "/a/../../x",
  "/a//b",
  "/a/",
  "/a/./b",
  "/a\\b",
  "/a\u0000b",
  "/a\nb",
  "/\ud800",
] as StoreKey[];

export function streamOf(...chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return ReadableStream.from(chunks);
}

export async function readAll(
  stream: ReadableStream<Uint8Array> | undefined,
): Promise<Uint8Array | undefined> {
  return stream && await new Response(
    stream as ReadableStream<Uint8Array<ArrayBuffer>>,
  ).bytes();
}

/** All keys that a store lists, sorted. */
export async function listed(
  store: Store,
  prefix?: StoreKey,
): Promise<StoreKey[]> {
  return (await Array.fromAsync(store.list!(prefix))).sort();
}
