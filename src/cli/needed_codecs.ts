import { namedCodecs, type NamedConfiguration } from "../metadata/mod.ts";
import { innermostCodecs } from "../zarrita/mod.ts";

/** The codecs that most readers of Zarr v3 have. */
const COMMON: readonly string[] = [
  ...["blosc", "bytes", "crc32c", "gzip", "sharding_indexed", "transpose"],
  ...["vlen-bytes", "vlen-utf8", "zstd"],
];

/** The versions of imagecodecs, in the notation of pip, that register codecs in zarr-python, or `undefined` if none of the codecs is of imagecodecs. */
export function imagecodecsFor(names: readonly string[]): string | undefined {
  if (!names.some(isOfImagecodecs)) return undefined;
  // Later versions have another codec of this name.
  const last = names.includes("imagecodecs_floatpred") ? ",<=2026.6.26" : "";
  return `imagecodecs>=2026.5.10${last}`;
}

/**
 * Says which codecs of arrays not every reader has, how a reader gets them, and how to make
 * a copy that needs none of them; `undefined` if there are none.
 *
 * @param arrays The codecs of each array, from valid metadata.
 */
export function neededCodecs(arrays: readonly unknown[]): string | undefined {
  const names = arrays.flatMap((codecs) =>
    namedCodecs(
      [codecs, innermostCodecs(codecs)].flat() as NamedConfiguration[],
    )
  ).map(({ name }) => name);
  const needed = [...new Set(names)].filter((name) => !COMMON.includes(name));
  if (needed.length === 0) return undefined;
  const texts = Array.from(
    Map.groupBy(needed, (name) => sourceOf(name, needed)),
    ([source, names]) => `${names.join(" and ")} (${source})`,
  );
  return `Readers need ${
    texts.join(" and ")
  }; zarr-parts convert --plain --codecs zstd makes a copy without these codecs`;
}

/** How readers get a codec. */
function sourceOf(name: string, needed: readonly string[]): string {
  if (isOfImagecodecs(name)) {
    return `zarr-python: pip install "${
      imagecodecsFor(needed)
    }"; from imagecodecs.zarr import register_codecs; register_codecs()`;
  }
  return name.startsWith("numcodecs.")
    ? "zarr-python 3 has it, TensorStore and GDAL do not"
    : "zarrita: registerCodecs of zarr-parts";
}

function isOfImagecodecs(name: string): boolean {
  return name.startsWith("imagecodecs_");
}
