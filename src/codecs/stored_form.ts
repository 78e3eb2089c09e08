import { coreDataType } from "../metadata/mod.ts";
import type { ChunkMetadata } from "./codec.ts";

/** The data type and the shape of a chunk. */
type ChunkForm = Pick<ChunkMetadata, "dataType" | "shape">;

/** The member of the configuration of a filter that names the data type of stored elements. */
const STORED_TYPES: Readonly<Record<string, string>> = {
  "numcodecs.delta": "astype",
  "numcodecs.fixedscaleoffset": "astype",
  "numcodecs.quantize": "astype",
  "numcodecs.astype": "encode_dtype",
};

/**
 * The form of a chunk after its codecs from array to array, some of which store elements of
 * another data type. `transpose` is left out, since the codecs after it do not need it.
 *
 * @returns The data type is empty if a configuration names none that is known.
 */
export function storedForm(
  codecs: readonly {
    readonly name: string;
    readonly configuration?: unknown;
  }[],
  { dataType, shape }: ChunkForm,
): ChunkForm {
  let form = { dataType, shape };
  for (const { name, configuration } of codecs) {
    const members = (configuration ?? {}) as Record<string, unknown>;
    const member = STORED_TYPES[name];
    if (name === "cast_value") {
      const { data_type: type } = members;
      if (typeof type === "string") form = { ...form, dataType: type };
    } else if (name === "numcodecs.packbits") {
      form = { dataType: "uint8", shape: packedShape(form.shape) };
    } else if (member !== undefined && (members[member] ?? null) !== null) {
      form = { ...form, dataType: fromNumpy(members[member]) ?? "" };
    }
  }
  return form;
}

/** The shape of a chunk that `numcodecs.packbits` has packed. */
export function packedShape(shape: readonly number[]): readonly number[] {
  return [1 + Math.ceil(shape.reduce((all, n) => all * n, 1) / 8)];
}

/** The name that Zarr has for a data type of NumPy such as `<u2`, `>f8` and `uint16`. */
export function fromNumpy(dtype: unknown): string | undefined {
  if (typeof dtype !== "string") return undefined;
  const [, kind, size] = /^[<>=|]?([biuf])([1248])$/.exec(dtype) ?? [];
  const name = kind === undefined
    ? dtype
    : kind === "b"
    ? "bool"
    : `${{ i: "int", u: "uint", f: "float" }[kind]}${8 * Number(size)}`;
  return coreDataType(name) === undefined ? undefined : name;
}
