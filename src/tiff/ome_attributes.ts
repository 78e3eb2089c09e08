/**
 * The attributes of OME-Zarr, in the terms of OME-XML.
 *
 * Source: OME-Zarr 0.1 to 0.5, https://ngff.openmicroscopy.org/0.5/
 */
import { isMembers } from "../metadata/mod.ts";
import type { OmeChannel, OmeImage } from "./tiff_options.ts";

/** A channel of the attribute `omero`. */
export function channelOf(channel: unknown): OmeChannel {
  const { label, color } = isMembers(channel) ? channel : {};
  return {
    ...typeof label === "string" && { label },
    ...typeof color === "string" && { color },
  };
}

/** The names of axes that OME-XML has, by their types in OME-Zarr. */
const AXES: Readonly<Record<string, string>> = { time: "t", channel: "c" };

/**
 * Finds the level with a path among the pictures of a group.
 *
 * @param multiscales The attribute of this name.
 * @param path The path of an array below the group.
 * @param rank The number of dimensions of the array.
 * @returns `undefined` if the array is no level, or has other dimensions.
 */
export function imageOf(
  multiscales: readonly unknown[],
  path: string,
  rank: number,
): OmeImage | undefined {
  for (const picture of multiscales.filter(isMembers)) {
    const { axes, datasets, name, coordinateTransformations } = picture;
    const level = Array.isArray(datasets)
      ? datasets.find((each) => isMembers(each) && each.path === path)
      : undefined;
    // Before version 0.3, all arrays had the same five dimensions.
    const given: unknown = axes ?? ["t", "c", "z", "y", "x"];
    if (!isMembers(level) || !Array.isArray(given)) continue;
    if (given.length !== rank) return undefined;
    const names = given.map((axis) =>
      typeof axis === "string"
        ? axis
        : isMembers(axis)
        ? AXES[String(axis.type)] ?? String(axis.name)
        : ""
    );
    const own = stepsOf(level.coordinateTransformations, rank);
    const all = stepsOf(coordinateTransformations, rank);
    return {
      axes: names.map((axis) => axis.toLowerCase()),
      ...typeof name === "string" && { name },
      // The transformations of all levels follow those of one.
      scale: own.scale.map((step, i) => step * all.scale[i]!),
      translation: own.translation.map((first, i) =>
        first * all.scale[i]! + all.translation[i]!
      ),
      units: given.map((axis) =>
        isMembers(axis) && typeof axis.unit === "string" ? axis.unit : undefined
      ),
    };
  }
  return undefined;
}

/** The scale and the translation of a list of transformations. */
function stepsOf(
  transformations: unknown,
  rank: number,
): { scale: number[]; translation: number[] } {
  let [scale, translation] = [Array<number>(rank).fill(1), Array(rank).fill(0)];
  const list = Array.isArray(transformations) ? transformations : [];
  for (const each of list.filter(isMembers)) {
    const factors = numbersOf(each.scale, rank);
    const shifts = numbersOf(each.translation, rank);
    if (each.type === "scale" && factors) {
      scale = scale.map((step, i) => step * factors[i]!);
      translation = translation.map((first, i) => first * factors[i]!);
    }
    if (each.type === "translation" && shifts) {
      translation = translation.map((first, i) => first + shifts[i]!);
    }
  }
  return { scale, translation };
}

/** The first members of a list, if they are numbers. */
export function numbersOf(value: unknown, count: number): number[] | undefined {
  const isList = Array.isArray(value) && value.length >= count &&
    value.slice(0, count).every((each) => Number.isFinite(each));
  return isList ? value.slice(0, count) : undefined;
}
