import { assertEquals } from "@std/assert";
import type { Backend, Store, StoreKey } from "../../mod.ts";
import { backendOf } from "../../src/stores/foreign_store.ts";
import { countingBytes } from "../support/bytes.ts";
import { ALL_METHODS, STORE_METHODS } from "../support/observed_store.ts";
import { backendCases } from "./conformance_backend.ts";
import { propertyCases } from "./conformance_property.ts";
import { readingCases } from "./conformance_reading.ts";
import { writerCases } from "./conformance_writer.ts";
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
  /** The methods that the store lacks; it must have all others but `writer`. */
  lacks?: readonly (keyof Store)[];
  /** Whether the store has `writer`. */
  hasWriter?: boolean;
  /** Offsets where the store joins pieces: ranges are tried around each. */
  boundaries?: readonly number[];
  /** Whether several values can be deleted together, as they can by default. */
  deletesTogether?: boolean;
}

/** The store under test, with helpers for its values. */
export interface Subject extends OpenedStore {
  /** A value of so many bytes more than the fewest; another `first`, other bytes. */
  value(more: number, first?: number): Uint8Array;
  boundaries: readonly number[];
  backend: Backend;
  deletesTogether: boolean;
}

export interface Case {
  name: string;
  /** The methods without which the case does not apply. */
  needs: readonly (typeof ALL_METHODS[number])[];
  run(subject: Subject, open: () => Promise<Subject>): Promise<void>;
}

/** Tests the contracts of {@linkcode Store} and {@linkcode Backend} for the methods that the store has. */
export function testStore(
  name: string,
  open: () => Promise<OpenedStore>,
  options?: StoreTestOptions,
): void {
  Deno.test(
    `${name} passes the conformance tests`,
    (t) => conform(t, open, options),
  );
}

/** Runs the cases of {@linkcode testStore} as steps of a test. */
export async function conform(
  t: Deno.TestContext,
  open: () => Promise<OpenedStore>,
  {
    smallest = 0,
    boundaries = [],
    lacks = [],
    hasWriter = false,
    deletesTogether = true,
  }: StoreTestOptions = {},
): Promise<void> {
  const openSubject = async (): Promise<Subject> => {
    const opened = await open();
    return {
      ...opened,
      value: (more, first) => countingBytes(smallest + more, first),
      boundaries,
      backend: backendOf(opened.store),
      deletesTogether,
    };
  };
  const { store, close } = await openSubject();
  await close?.();
  const methods = (hasWriter ? ALL_METHODS : STORE_METHODS).filter((name) =>
    !lacks.includes(name)
  );
  assertEquals(
    ALL_METHODS.filter((name) => typeof store[name] === "function"),
    methods,
  );
  const cases = [
    ...readingCases,
    ...writingCases,
    ...writerCases,
    ...backendCases,
    ...propertyCases,
  ];
  for (const { name, needs, run } of cases) {
    if (!needs.every((method) => methods.includes(method))) continue;
    await t.step(name, async () => {
      const subject = await openSubject();
      try {
        await run(subject, openSubject);
      } finally {
        await subject.close?.();
      }
    });
  }
}

/** Tests the contract of {@linkcode Backend} for the adapter of a store of another package. */
export function testAdapter(
  name: string,
  open: () => Promise<OpenedStore>,
): void {
  Deno.test({
    name: `the adapter of ${name} passes the conformance tests of backends`,
    sanitizeResources: false, // zarrita's FetchStore leaves bodies of errors unread.
    async fn(t) {
      for (const { name, needs, run } of backendCases) {
        const openSubject = async (): Promise<Subject> => {
          const opened = await open();
          const backend = backendOf(opened.store);
          return {
            ...opened,
            value: countingBytes,
            boundaries: [],
            backend,
            deletesTogether: true,
          };
        };
        const subject = await openSubject();
        try {
          const isWritable = typeof subject.store.set === "function";
          if (!isWritable && needs.length > 1) continue;
          await t.step(name, () => run(subject, openSubject));
        } finally {
          await subject.close?.();
        }
      }
    },
  });
}
