import * as zarr from "zarrita";
import type { ChunkMetadata } from "../../src/codecs/codec.ts";
import { codecKind } from "../../src/metadata/codecs.ts";
import { registerCodecs } from "../../src/codecs/register_codecs.ts";

/** An array of `tests/fixtures/codecs.json`, and what numcodecs encodes it to. */
export interface CodecFixture {
  readonly title: string;
  readonly name: string;
  readonly configuration: Readonly<Record<string, unknown>>;
  readonly dataType: string;
  /** The bytes of the elements. */
  readonly bytes: Uint8Array;
  readonly encoded: Uint8Array;
  /** What numcodecs decodes the encoded bytes to. */
  readonly decoded: Uint8Array;
}

interface Stored {
  readonly arrays: Readonly<
    Record<string, { readonly dataType: string; readonly bytes: string }>
  >;
  readonly cases: readonly {
    readonly array: string;
    readonly name: string;
    readonly configuration: Readonly<Record<string, unknown>>;
    readonly encoded: string;
    readonly decoded?: string;
  }[];
}

/** Reads what `tests/fixtures/generate_codecs.py` writes. */
export function parseFixtures(json: string): CodecFixture[] {
  const { arrays, cases } = JSON.parse(json) as Stored;
  return cases.map(({ array, name, configuration, encoded, decoded }) => {
    const { dataType, bytes } = arrays[array]!;
    return {
      title: `${name} ${JSON.stringify(configuration)} of ${array}`,
      name,
      configuration,
      dataType,
      bytes: Uint8Array.fromBase64(bytes),
      encoded: Uint8Array.fromBase64(encoded),
      decoded: Uint8Array.fromBase64(decoded ?? bytes),
    };
  });
}

const path = new URL("../fixtures/codecs.json", import.meta.url);

/** Small arrays, encoded by all codecs of numcodecs. */
export const CODEC_FIXTURES: readonly CodecFixture[] = parseFixtures(
  await Deno.readTextFile(path),
);

/** The length of an element in bytes. */
export function sizeOf(dataType: string): number {
  return Number(dataType.replace(/\D+/, "") || 8) / 8;
}

const registry = new Map(zarr.registry);
registerCodecs(registry);

interface Codec {
  readonly kind?: string;
  // deno-lint-ignore no-explicit-any
  encode(value: any): any;
  // deno-lint-ignore no-explicit-any
  decode(value: any): any;
  getEncodedMeta?(metadata: ChunkMetadata): ChunkMetadata;
}

/** A codec with `bytes` before or after it, between bytes of elements and encoded bytes. */
export interface FixtureCoder {
  encode(bytes: Uint8Array): Promise<Uint8Array>;
  decode(encoded: Uint8Array): Promise<Uint8Array>;
}

/** Makes the codec of a fixture as zarrita does, for one chunk of all elements. */
export async function coderOf(
  { name, configuration, dataType, bytes }: Pick<
    CodecFixture,
    "name" | "configuration" | "dataType" | "bytes"
  >,
  peers: ReadonlyMap<string, () => unknown> = registry,
): Promise<FixtureCoder> {
  const tested = { name, configuration };
  const toBytes = { name: "bytes", configuration: { endian: "little" } };
  const codecs = codecKind(name) === "array_to_array"
    ? [tested, toBytes]
    : [toBytes, tested];
  const shape = [bytes.length / sizeOf(dataType)];
  let metadata: ChunkMetadata = { dataType, shape, codecs };
  const make = async ({ name, configuration }: typeof tested) => {
    const entry = await peers.get(name)!() as {
      fromConfig(configuration: unknown, metadata: ChunkMetadata): Codec;
    };
    return entry.fromConfig(configuration, metadata);
  };
  const elements = await make(toBytes);
  const made: Codec[] = [];
  for (const each of codecs) {
    const codec = await make(each);
    metadata = codec.getEncodedMeta?.(metadata) ?? metadata;
    made.push(codec);
  }
  return {
    async encode(bytes) {
      let value = elements.decode(bytes.slice());
      for (const codec of made) value = await codec.encode(value);
      return value;
    },
    async decode(encoded) {
      let value: unknown = encoded;
      for (const codec of made.toReversed()) value = await codec.decode(value);
      const { data } = value as { data: DataView };
      return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    },
  };
}
