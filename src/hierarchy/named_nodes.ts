import { isMembers, isSameJson, type Members } from "../metadata/mod.ts";

/**
 * Leaves nodes out of the attributes of a group that name them:
 *
 * - the levels in `multiscales` of OME-Zarr and ndpyramid (`datasets`), and of GeoZarr
 *   (`layout`);
 * - `labels`, the wells of a `plate`, the images of a `well`, and the `series` of a
 *   collection of images, all of OME-Zarr.
 *
 * A list of levels that becomes empty is removed. A level of GeoZarr that was derived from one
 * that is left out loses `derived_from` and `transform`, which is relative to that level. Where
 * `spatial:transform` and `spatial:shape` of the group are those of the first level, and this
 * level is left out, they become those of the first one that remains.
 *
 * @param document The document of the group, with exact numbers or without.
 * @param path The path of the group.
 * @param isGone Whether the node at a path is left out.
 * @returns The same document if nothing changes.
 */
export function withoutNamedNodes(
  document: unknown,
  path: string,
  isGone: (path: string) => boolean,
): unknown {
  if (!isMembers(document) || !isMembers(document.attributes)) return document;
  const names: Names = (name, group = path) => {
    const named = typeof name === "string"
      ? resolvePath(group, name)
      : undefined;
    return named !== undefined && isGone(named);
  };
  const attributes = changeAttributes(document.attributes, path, names);
  if (isMembers(attributes.ome)) {
    // OME-Zarr 0.5 has its members in one of the attributes.
    attributes.ome = changeAttributes(attributes.ome, path, names);
  }
  return isSameJson(attributes, document.attributes)
    ? document
    : { ...document, attributes };
}

/**
 * The paths of the nodes that the attributes of a group name, as `withoutNamedNodes` finds
 * them, in their order.
 *
 * @param document The document of the group.
 * @param path The path of the group.
 */
export function namedNodes(document: unknown, path: string): string[] {
  const named = new Set<string>();
  withoutNamedNodes(document, path, (node) => {
    named.add(node);
    return false;
  });
  return [...named];
}

/**
 * The path that a name in the attributes of a group leads to; `undefined` if it leads out of
 * the hierarchy.
 *
 * @param group The path of the group.
 */
export function resolvePath(group: string, name: string): string | undefined {
  const resolved = group === "" ? [] : group.split("/");
  for (const step of name.split("/")) {
    if (step === "..") {
      if (resolved.pop() === undefined) return undefined;
    } else if (step !== "" && step !== ".") resolved.push(step);
  }
  return resolved.join("/");
}

/** Whether a value is the name of a node that is left out. */
type Names = (name: unknown, group?: string) => boolean;

function changeAttributes(
  attributes: Members,
  path: string,
  names: Names,
): Record<string, unknown> {
  // The series lie beside the group that lists them.
  const parent = resolvePath(path, "..");
  const changes: Record<string, (value: unknown) => unknown> = {
    multiscales: (value) => withoutLevels(value, names),
    labels: (list) => withoutItems(list, (name) => names(name)),
    plate: (plate) => withoutPaths(plate, "wells", names),
    well: (well) => withoutPaths(well, "images", names),
    series: (list) =>
      withoutItems(list, (name) => parent !== undefined && names(name, parent)),
  };
  const changed: Record<string, unknown> = { ...attributes };
  for (const [name, change] of Object.entries(changes)) {
    if (Object.hasOwn(changed, name)) changed[name] = change(changed[name]);
  }
  placeAtFirstLevel(changed, attributes);
  if (changed.multiscales === undefined && attributes.multiscales) {
    delete changed.multiscales;
    if (Object.hasOwn(changed, "zarr_conventions")) {
      changed.zarr_conventions = withoutItems(
        changed.zarr_conventions,
        (each) => isMembers(each) && each.name === "multiscales",
      );
    }
  }
  return changed;
}

/** Gives a group of GeoZarr the transform and shape of its first level, if that is another one than before. */
function placeAtFirstLevel(
  changed: Record<string, unknown>,
  before: Members,
): void {
  const [level, former] = [changed, before].map(({ multiscales }) =>
    isMembers(multiscales) && Array.isArray(multiscales.layout)
      ? multiscales.layout.find(isMembers)
      : undefined
  );
  if (!level || !former || level.asset === former.asset) return;
  for (const name of ["spatial:transform", "spatial:shape"]) {
    const isOfLevel = former[name] === undefined ||
      isSameJson(former[name], before[name]);
    if (!Object.hasOwn(changed, name) || !isOfLevel) continue;
    if (level[name] === undefined) delete changed[name];
    else changed[name] = level[name];
  }
}

/** Leaves levels out of `multiscales`; `undefined` if none remains. */
function withoutLevels(multiscales: unknown, names: Names): unknown {
  if (Array.isArray(multiscales)) {
    const left = multiscales
      .map((image) => [image, withoutPaths(image, "datasets", names)])
      .filter(([before, after]) => !isEmptied(before, after, "datasets"))
      .map(([_, after]) => after);
    return left.length === 0 && multiscales.length > 0 ? undefined : left;
  }
  if (!isMembers(multiscales) || !Array.isArray(multiscales.layout)) {
    return multiscales;
  }
  const left = withoutItems(
    multiscales.layout,
    (level) => isMembers(level) && names(level.asset),
  ) as unknown[];
  const layout = left.map((level) => {
    if (!isMembers(level) || !names(level.derived_from)) return level;
    const { derived_from: _, transform: __, ...rest } = level;
    return rest;
  });
  const changed = { ...multiscales, layout };
  return isEmptied(multiscales, changed, "layout") ? undefined : changed;
}

/** Leaves the items out of a list in a member whose `path` names a node that is left out. */
function withoutPaths(value: unknown, name: string, names: Names): unknown {
  if (!isMembers(value) || !Array.isArray(value[name])) return value;
  const isLeftOut = (item: unknown) => isMembers(item) && names(item.path);
  return { ...value, [name]: withoutItems(value[name], isLeftOut) };
}

function withoutItems(
  list: unknown,
  isLeftOut: (item: unknown) => boolean,
): unknown {
  return Array.isArray(list) ? list.filter((item) => !isLeftOut(item)) : list;
}

/** Whether a list in a member has become empty. */
function isEmptied(before: unknown, after: unknown, name: string): boolean {
  const lengthOf = (value: unknown) =>
    isMembers(value) && Array.isArray(value[name]) ? value[name].length : 0;
  return lengthOf(before) > 0 && lengthOf(after) === 0;
}
