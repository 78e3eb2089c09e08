import { isMembers, type Members } from "./json.ts";

const [BEFORE, AFTER] = ["0.4", "0.5"];

/** The members that 0.4 has among the attributes, and 0.5 in the attribute `ome`. */
const MOVED = [
  ...["multiscales", "omero", "labels", "image-label"],
  ...["plate", "well", "bioformats2raw.layout", "series"],
];

/**
 * Moves the attributes of OME-Zarr 0.4, which is an extension of Zarr v2, to where 0.5, which
 * is one of Zarr v3, has them: into the attribute `ome`, with its version. Other attributes,
 * and those of earlier versions, which lack members that 0.5 requires, stay as they are.
 *
 * Sources: https://ngff.openmicroscopy.org/0.4/ and https://ngff.openmicroscopy.org/0.5/
 *
 * @param path The path of the group, whose last name tells a group of labels.
 */
export function withOmeInOne(attributes: Members, path: string): Members {
  if (!isOme(attributes, path.slice(path.lastIndexOf("/") + 1))) {
    return attributes;
  }
  const ome: Record<string, unknown> = { version: AFTER };
  const others: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (!MOVED.includes(name)) others[name] = value;
    else if (Array.isArray(value)) ome[name] = value.map(withoutVersion);
    else if (name === "plate") {
      ome[name] = { ...value as Members, version: AFTER };
    } else ome[name] = withoutVersion(value);
  }
  return { ...others, ome };
}

/**
 * The names of the axes of a level of OME-Zarr 0.4, which 0.5 requires as names of the dimensions
 * of the array; `undefined` for an array that is no level.
 *
 * @param group The attributes of the group around the array.
 * @param name The name of the array in the group.
 */
export function omeAxes(
  group: Members,
  name: string,
): readonly string[] | undefined {
  if (!Array.isArray(group.multiscales) || !isOme(group, "")) return undefined;
  const image = (group.multiscales as Members[]).find(({ datasets }) =>
    (datasets as unknown[]).some((level) =>
      isMembers(level) && level.path === name
    )
  );
  const axes = Array.isArray(image?.axes) ? image.axes : [];
  const names = axes.map((axis) => isMembers(axis) ? axis.name : undefined);
  return areNames(names) ? names as string[] : undefined;
}

function isOme(attributes: Members, name: string): boolean {
  const { multiscales, labels, series, ome } = attributes;
  if (ome !== undefined) return false;
  if (multiscales !== undefined) {
    return Array.isArray(multiscales) && multiscales.length > 0 &&
      multiscales.every((image) =>
        isMembers(image) && image.version === BEFORE &&
        Array.isArray(image.datasets)
      );
  }
  for (const [member, list] of [["plate", "wells"], ["well", "images"]]) {
    const value = attributes[member!];
    if (!isMembers(value) || !Array.isArray(value[list!])) continue;
    return (value.version ?? BEFORE) === BEFORE;
  }
  return attributes["bioformats2raw.layout"] !== undefined ||
    name === "labels" && areNames(labels) ||
    name === "OME" && areNames(series);
}

function areNames(value: unknown): boolean {
  return Array.isArray(value) &&
    value.every((name) => typeof name === "string");
}

function withoutVersion(value: unknown): unknown {
  if (!isMembers(value)) return value;
  const { version: _, ...rest } = value;
  return rest;
}
