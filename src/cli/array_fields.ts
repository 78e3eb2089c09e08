import type { InspectedArray } from "../jobs/inspection.ts";
import type { NamedConfiguration } from "../metadata/array_metadata.ts";
import { bytesText, countText, shapeText } from "./format.ts";

/** The properties of an array by name, as people read them. */
export function fieldsOf(array: InspectedArray): [string, string][] {
  const { metadata, gridShape, chunkShape, innerChunkShape, stored } = array;
  const { shape, data_type, dimension_names, chunk_key_encoding } = metadata;
  const names = dimension_names
    ? ` (${dimension_names.map((name) => name ?? "?").join(", ")})`
    : "";
  const what = innerChunkShape ? "shards" : "chunks";
  const count = gridShape.reduce((product, length) => product * length, 1);
  return [
    ["shape", shapeText(shape) + names],
    ["data type", nameOf(data_type)],
    [what, `${shapeText(chunkShape)}, a grid of ${shapeText(gridShape)}`],
    ...innerChunkShape
      ? [["inner chunks", shapeText(innerChunkShape)] as [string, string]]
      : [],
    ["codecs", codecsText(metadata.codecs)],
    ["keys", nameOf(chunk_key_encoding)],
    ...stored
      ? [[
        "stored",
        `${countText(stored.chunks)} of ${countText(count)} ${what}${
          stored.bytes === undefined ? "" : `, ${bytesText(stored.bytes)}`
        }`,
      ] as [string, string]]
      : [],
  ];
}

function nameOf(extension: string | NamedConfiguration): string {
  return typeof extension === "string" ? extension : extension.name;
}

/** The codecs, with those of inner chunks in brackets. */
function codecsText(codecs: readonly (string | NamedConfiguration)[]): string {
  return codecs.map((codec) => {
    const inner = typeof codec === "string"
      ? undefined
      : codec.configuration?.codecs;
    return nameOf(codec) +
      (Array.isArray(inner) ? ` [${codecsText(inner)}]` : "");
  }).join(", ");
}
