import fc from "fast-check";
import * as zarr from "zarrita";
import {
  ELEMENT_KINDS,
  type ElementKind,
  type Elements,
} from "./element_kinds.ts";
import type { Configuration } from "./packbits_oracle.ts";
import "./zarrita_codecs.ts";

export interface Chunk {
  data: Elements;
  shape: readonly number[];
  stride: readonly number[];
}

export interface Codec {
  readonly kind: string;
  encode(chunk: Chunk): Uint8Array;
  decode(bytes: Uint8Array): Chunk;
}

export const PADDINGS = ["none", "first_byte", "last_byte"] as const;

const entry = await zarr.registry.get("packbits")!();

/** The codec as zarrita makes it. */
export function packbits(
  dataType: string,
  shape: readonly number[],
  configuration?: unknown,
): Codec {
  return entry.fromConfig(configuration, {
    dataType: dataType as zarr.DataType,
    shape: [...shape],
    codecs: [],
    fillValue: null,
  }) as unknown as Codec;
}

/** Strides in C order, or in another order of dimensions, the slowest first. */
export function strides(
  shape: readonly number[],
  order: readonly number[] = shape.map((_, i) => i),
): number[] {
  const stride: number[] = new Array(shape.length);
  order.toReversed().reduce((step, dimension) => {
    stride[dimension] = step;
    return step * shape[dimension]!;
  }, 1);
  return stride;
}

export function chunkOf(data: Elements, shape: readonly number[]): Chunk {
  return { data, shape, stride: strides(shape) };
}

export interface Case {
  kind: ElementKind;
  shape: readonly number[];
  configuration: Configuration;
  patterns: readonly bigint[];
}

/** Elements of any kind and shape, and any configuration that packs them. */
export const anyCase: fc.Arbitrary<Case> = fc
  .record({
    kind: fc.constantFrom(...ELEMENT_KINDS),
    shape: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 5 }),
  })
  .chain(({ kind, shape }) => {
    const count = shape.reduce((product, n) => product * n, 1);
    const most = (1n << BigInt(kind.bits)) - 1n;
    return fc.record({
      kind: fc.constant(kind),
      shape: fc.constant(shape),
      configuration: configurationFor(kind),
      patterns: fc.array(
        fc.oneof(fc.bigInt(0n, most), fc.constantFrom(0n, 1n, most)),
        { minLength: count, maxLength: count },
      ),
    });
  });

function configurationFor({ bits }: ElementKind): fc.Arbitrary<Configuration> {
  return fc
    .record({
      padding: fc.option(fc.constantFrom(...PADDINGS)),
      places: fc.tuple(fc.nat(bits - 1), fc.nat(bits - 1)),
      first: fc.constantFrom("given", "null", "absent"),
      last: fc.constantFrom("given", "null", "absent"),
    })
    .map(({ padding, places, first, last }) => {
      const [low, high] = places.toSorted((a, b) => a - b) as [number, number];
      return {
        ...(padding === null ? {} : { padding_encoding: padding }),
        ...member("first_bit", first, low),
        ...member("last_bit", last, high),
      };
    });
}

function member(name: string, how: string, value: number) {
  return how === "absent" ? {} : { [name]: how === "null" ? null : value };
}
