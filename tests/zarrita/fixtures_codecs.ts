import * as zarr from "zarrita";
import { registerCodecs } from "../../zarrita.ts";
import { utf8 } from "../support/documents.ts";

type Loader = () => Promise<object>;
type Registry = {
  get(name: string): Loader;
  set(name: string, l: Loader): void;
};
const registry = zarr.registry as unknown as Registry;

const REPLACED = ["crc32c", "zstd", "gzip", "zlib"] as const;
const OWN = REPLACED.map((name) => registry.get(name));
registerCodecs(zarr.registry);
const REGISTERED = REPLACED.map((name) => registry.get(name));

/** Runs with zarrita's own codecs, so that reading does not depend on this package. */
export async function byZarritaAlone<T>(run: () => Promise<T>): Promise<T> {
  REPLACED.forEach((name, i) => registry.set(name, OWN[i]!));
  try {
    return await run();
  } finally {
    REPLACED.forEach((name, i) => registry.set(name, REGISTERED[i]!));
  }
}

/** Runs with codecs that encode what zarrita only decodes. */
export async function withEncoders<T>(run: () => Promise<T>): Promise<T> {
  const names = ["gzip", "vlen-utf8"] as const;
  const own = names.map((name) => registry.get(name));
  registry.set("gzip", () => Promise.resolve(GzipEncoder));
  registry.set("vlen-utf8", () => Promise.resolve(StringEncoder));
  try {
    return await run();
  } finally {
    names.forEach((name, i) => registry.set(name, own[i]!));
  }
}

class GzipEncoder {
  readonly kind = "bytes_to_bytes";

  static fromConfig(): GzipEncoder {
    return new GzipEncoder();
  }

  async encode(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    const stream = new Blob([bytes]).stream();
    const gzipped = stream.pipeThrough(new CompressionStream("gzip"));
    return new Uint8Array(await new Response(gzipped).arrayBuffer());
  }

  decode(): never {
    throw new TypeError("Expected chunks to be written once");
  }
}

class StringEncoder {
  readonly kind = "array_to_bytes";

  static fromConfig(): StringEncoder {
    return new StringEncoder();
  }

  /** The number of strings, and each one after its length. */
  encode({ data }: { data: string[] }): Uint8Array {
    const uint32 = (n: number) => new Uint8Array(Uint32Array.of(n).buffer);
    const pieces = data.map(utf8).flatMap((
      text,
    ) => [uint32(text.length), text]);
    const bytes = [uint32(data.length), ...pieces].flatMap((
      piece,
    ) => [...piece]);
    return Uint8Array.from(bytes);
  }

  decode(): never {
    throw new TypeError("Expected chunks to be written once");
  }
}
