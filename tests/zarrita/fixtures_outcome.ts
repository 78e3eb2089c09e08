import { assert, assertEquals } from "@std/assert";
import type * as zarr from "zarrita";
import { stridesOf } from "./fixtures_elements.ts";
import { ChecksumError, MetadataError } from "../../mod.ts";

/** The result of reading: a value, or an error. */
export type Outcome = { readonly value: unknown } | { readonly error: Error };

export async function outcomeOf(
  read: () => Promise<unknown>,
): Promise<Outcome> {
  try {
    return { value: await read() };
  } catch (error) {
    assert(error instanceof Error, String(error));
    return { error };
  }
}

/** Asserts that two reads have the same value, or the same error. */
export function assertSameOutcome(
  actual: Outcome,
  expected: Outcome,
  what: string,
): void {
  if ("error" in expected) {
    assert("error" in actual, `${what} was read, and not before`);
    assert(
      isAsGood(actual.error, expected.error),
      `${what} failed with ${actual.error}, before with ${expected.error}`,
    );
    return;
  }
  if ("error" in actual) {
    throw new Error(`${what} cannot be read`, { cause: actual.error });
  }
  assertEquals(exact(actual.value), exact(expected.value), what);
}

/** Whether an error has the message of the other one, maybe with more text, or is an error of this package. */
function isAsGood(actual: Error, expected: Error): boolean {
  return actual instanceof MetadataError || actual instanceof ChecksumError ||
    actual.name === expected.name &&
      actual.message.startsWith(expected.message);
}

/** A value in a form that compares bits, classes and the signs of zeros. */
function exact(value: unknown): unknown {
  if (typeof value === "number") {
    return ["number", bits(Float64Array.of(value))];
  }
  if (typeof value !== "object" || value === null) return [typeof value, value];
  if (!("data" in value)) return value;
  const { data, shape, stride } = value as zarr.Chunk<zarr.DataType>;
  assert(shape.every(Number.isInteger) && stride.every(Number.isInteger));
  const elements = Array.isArray(data) ? data : bits(data as Uint8Array);
  const { constructor, length } = data;
  return { class: constructor.name, length, elements, shape, stride };
}

/** An outcome with its elements in C order, for any codecs. */
export function inCOrder(outcome: Outcome): Outcome {
  const value = "value" in outcome ? outcome.value : undefined;
  if (typeof value !== "object" || value === null) return outcome;
  const { data, shape, stride } = value as zarr.Chunk<"float64">;
  const inOrder = stridesOf(shape);
  if (String(stride) === String(inOrder)) return outcome;
  const offsets = shape.reduce<number[]>(
    (offsets, length, i) =>
      offsets.flatMap((offset) =>
        Array.from({ length }, (_, c) => offset + c * stride[i]!)
      ),
    [0],
  );
  const ordered = data.slice();
  offsets.forEach((offset, i) => ordered[i] = data[offset]!);
  return { value: { data: ordered, shape, stride: inOrder } };
}

function bits({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  return new Uint8Array(buffer, byteOffset, byteLength).toHex();
}
