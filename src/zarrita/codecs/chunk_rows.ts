import { isWhole, refuse } from "../../metadata/check.ts";
import { coreDataType } from "../../metadata/data_type.ts";
import { describe } from "../../metadata/describe.ts";
import { MetadataError } from "../../metadata/metadata_error.ts";
import type { ChunkMetadata } from "./codec.ts";
import { parseCodecConfiguration } from "./codec_configuration.ts";
import type { Rows } from "./predictors.ts";

/** The rows of a predictor: its `axis` is -1 by default, and its `dist` 1. */
export function parseRows(
  name: string,
  configuration: unknown,
  metadata: ChunkMetadata,
): Rows {
  const { axis = -1, dist = 1 } = parseCodecConfiguration(
    name,
    ["axis", "dist"],
    configuration,
  );
  const size = numberSize(name, metadata.dataType);
  const shape = storedShape(name, metadata);
  const place = checkAxis(name, axis, shape.length);
  const isFloatpred = name === "imagecodecs_floatpred";
  if (isFloatpred && place < shape.length - 2) {
    refuse(`axis of ${name} to be -1 or -2`, axis, "/configuration/axis");
  }
  const isRight = isFloatpred
    ? isWhole(dist, 1) && shape[place]! % dist === 0
    : dist === 1;
  if (!isRight) {
    refuse(
      `dist of ${name} to ${
        isFloatpred ? `divide the length of the axis, ${shape[place]}` : "be 1"
      }`,
      dist,
      "/configuration/dist",
    );
  }
  const distance = rowOf(shape, place + 1) * (dist as number);
  return { size, count: rowOf(shape, place), distance };
}

/** The number of elements in a row that starts at an axis. */
export function rowOf(shape: readonly number[], axis: number): number {
  return shape.slice(axis).reduce((product, n) => product * n, 1);
}

export function checkAxis(
  name: string,
  axis: unknown,
  dimensions: number,
): number {
  const place = (axis as number) < 0 ? dimensions + (axis as number) : axis;
  if (isWhole(place) && place < dimensions) return place;
  refuse(
    `axis of ${name} to be a whole number from ${-dimensions} to ${
      dimensions - 1
    }`,
    axis,
    "/configuration/axis",
  );
}

/** The length of a number in bytes. */
export function numberSize(name: string, dataType: string): number {
  const bits = coreDataType(dataType)?.bits;
  if (bits !== undefined && /^(u?int|float)/.test(dataType)) return bits / 8;
  throw new MetadataError(
    `Expected a data type of integers or floats for ${name}, found ${
      describe(dataType)
    }`,
  );
}

/** The shape of the chunk that a codec encodes, after the `transpose` codecs before it. */
export function storedShape(
  name: string,
  { shape, codecs = [] }: ChunkMetadata,
): readonly number[] {
  const place = codecs.findIndex((codec) => codec.name === name);
  let stored = shape;
  for (const codec of codecs.slice(0, Math.max(place, 0))) {
    const { order } = codec.configuration as { order?: unknown } ?? {};
    if (codec.name !== "transpose") continue;
    if (order === "F") stored = stored.toReversed();
    if (Array.isArray(order)) stored = order.map((i) => stored[i]!);
  }
  return stored;
}
