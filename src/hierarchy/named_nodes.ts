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
  if (!isMembers(document)) return document;
  const names: Names = (name, group = path) => {
    const named = typeof name === "string"
      ? resolvePath(group, name)
      : undefined;
    return named !== undefined && isGone(named);
  };
  return changeMember(document, "attributes", (attributes) => {
    if (!isMembers(attributes)) return attributes;
    const changed = changeAttributes(attributes, path, names);
    // OME-Zarr 0.5 has its members in one of the attributes.
    return changeMember(
      changed,
      "ome",
      (ome) => isMembers(ome) ? changeAttributes(ome, path, names) : ome,
    );
  });
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
): Members {
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
  let changed = attributes;
  for (const [name, change] of Object.entries(changes)) {
    changed = changeMember(changed, name, change);
  }
  changed = placeAtFirstLevel(changed, attributes);
  const isRemoved = Object.hasOwn(attributes, "multiscales") &&
    !Object.hasOwn(changed, "multiscales");
  return !isRemoved ? changed : changeMember(
    changed,
    "zarr_conventions",
    (list) =>
      withoutItems(
        list,
        (each) => isMembers(each) && each.name === "multiscales",
      ),
  );
}

/** Gives a group of GeoZarr the transform and shape of its first level, if that is another one than before. */
function placeAtFirstLevel(attributes: Members, before: Members): Members {
  const [level, former] = [attributes, before].map(firstLevel);
  if (!level || !former || level.asset === former.asset) return attributes;
  let changed = attributes;
  for (const name of ["spatial:transform", "spatial:shape"]) {
    const isOfLevel = former[name] === undefined ||
      isSameJson(former[name], attributes[name]);
    if (isOfLevel) changed = changeMember(changed, name, () => level[name]);
  }
  return changed;
}

/** The first level of GeoZarr. */
function firstLevel({ multiscales }: Members): Members | undefined {
  if (!isMembers(multiscales) || !Array.isArray(multiscales.layout)) return;
  return multiscales.layout.find(isMembers);
}

/** Leaves levels out of `multiscales`; `undefined` if none remains. */
function withoutLevels(multiscales: unknown, names: Names): unknown {
  if (Array.isArray(multiscales)) {
    const changed = multiscales.map((each) =>
      withoutPaths(each, "datasets", names)
    );
    const left = changed.filter((each, i) =>
      each === multiscales[i] || !isEmptyList(each, "datasets")
    );
    const isSame = left.length === multiscales.length &&
      left.every((each, i) => each === multiscales[i]);
    return isSame ? multiscales : left.length === 0 ? undefined : left;
  }
  const changed = changeMember(
    multiscales,
    "layout",
    (layout) => withoutAssets(layout, names),
  );
  const isEmpty = changed !== multiscales && isEmptyList(changed, "layout");
  return isEmpty ? undefined : changed;
}

/** Leaves levels out of the `layout` of GeoZarr. */
function withoutAssets(layout: unknown, names: Names): unknown {
  const left = withoutItems(
    layout,
    (level) => isMembers(level) && names(level.asset),
  );
  if (!Array.isArray(left)) return left;
  const changed = left.map((level) => {
    if (!isMembers(level) || !names(level.derived_from)) return level;
    const { derived_from: _, transform: __, ...rest } = level;
    return rest;
  });
  return changed.every((level, i) => level === left[i]) ? left : changed;
}

/** Leaves the items out of a list in a member whose `path` names a node that is left out. */
function withoutPaths(value: unknown, name: string, names: Names): unknown {
  return changeMember(
    value,
    name,
    (list) => withoutItems(list, (item) => isMembers(item) && names(item.path)),
  );
}

function withoutItems(
  list: unknown,
  isLeftOut: (item: unknown) => boolean,
): unknown {
  return Array.isArray(list) && list.some(isLeftOut)
    ? list.filter((item) => !isLeftOut(item))
    : list;
}

function isEmptyList(value: unknown, name: string): boolean {
  if (!isMembers(value)) return false;
  const list = value[name];
  return Array.isArray(list) && list.length === 0;
}

/** Changes a member of an object, or removes it if the new value is `undefined`. */
function changeMember<T>(
  value: T,
  name: string,
  change: (value: unknown) => unknown,
): T {
  if (!isMembers(value) || !Object.hasOwn(value, name)) return value;
  const before = value[name];
  const after = change(before);
  if (after === before) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) =>
      key !== name ? [[key, each]] : after === undefined ? [] : [[key, after]]
    ),
  ) as T;
}
