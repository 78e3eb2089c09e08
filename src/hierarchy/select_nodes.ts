import { distance } from "fastest-levenshtein";
import { describe, type OptionRule, type OptionRules } from "../errors/mod.ts";
import { type Place, rootIn } from "./node_location.ts";

/**
 * The options that choose nodes of a group. Documents of the groups above a chosen node are
 * read, too.
 *
 * @example
 * ```ts
 * import type { NodeSelection } from "@zarr-parts/zarr-parts/jobs";
 *
 * const selection: NodeSelection = { only: "labels/**", exclude: "labels/nuclei" };
 * ```
 */
export interface NodeSelection {
  /**
   * Globs of the nodes that are taken, by their paths below the group: `0`, `labels/**`,
   * `images*`, `{0,1}`. With a node, all nodes below it and the groups above it are taken.
   * Default: all nodes.
   */
  readonly only?: string | readonly string[] | undefined;
  /** Globs of the nodes that are left out, with all nodes below them. */
  readonly exclude?: string | readonly string[] | undefined;
}

const GLOBS: OptionRule = {
  expected: "a glob or a list of globs",
  isValid: (value) =>
    typeof value === "string" ||
    Array.isArray(value) && value.every((glob) => typeof glob === "string"),
};

/** The rules of {@linkcode NodeSelection}. */
export const NODE_OPTIONS: OptionRules<NodeSelection> = {
  only: GLOBS,
  exclude: GLOBS,
};

/** The nodes of a group that were chosen. */
export interface SelectedNodes {
  /** The paths of the nodes that are left out. */
  readonly excluded: ReadonlySet<string>;
  /** The paths of groups that are chosen only because of nodes below them. */
  readonly around: ReadonlySet<string>;
}

/** The selection of all nodes. */
export const ALL_NODES: SelectedNodes = {
  excluded: new Set(),
  around: new Set(),
};

/**
 * Chooses nodes of a group.
 *
 * @param paths The paths of all nodes below the group; none of an array.
 * @throws {RangeError} If a glob matches no node, or no node is chosen.
 */
export async function selectNodes(
  paths: readonly string[],
  selection: NodeSelection,
): Promise<SelectedNodes> {
  const { only, exclude } = selection;
  if (only === undefined && exclude === undefined) return ALL_NODES;
  if (paths.length === 0) {
    const name = only === undefined ? "exclude" : "only";
    throw new RangeError(
      `Expected a group with nodes for the option "${name}", found an array, or a group without nodes`,
    );
  }
  const [taken, left] = [
    only === undefined ? undefined : await matches("only", only, paths),
    await matches("exclude", exclude ?? [], paths),
  ];
  const chosen = paths.filter((path) =>
    (taken === undefined || isIn(taken, path)) && !isIn(left, path)
  );
  if (chosen.length === 0 && taken !== undefined) {
    throw new RangeError(
      left.size === 0
        ? 'Expected the option "only" to have a glob, found none'
        : 'The options "only" and "exclude" leave no node; expected globs of different nodes',
    );
  }
  const kept = new Set(chosen);
  const around = new Set<string>();
  if (taken !== undefined) {
    const all = new Set(paths);
    around.add("");
    for (const path of chosen) {
      for (const group of pathsAbove(path)) {
        if (all.has(group) && !kept.has(group)) around.add(group);
      }
    }
  }
  const excluded = paths.filter((path) => !kept.has(path) && !around.has(path));
  return { excluded: new Set(excluded), around };
}

/**
 * Returns a function that returns whether a key belongs to a node that is left out. A group that
 * is chosen only because of nodes below it keeps the files of its own folder, and no folder.
 *
 * @param nodes The paths of the nodes that are taken.
 * @param leftOut The paths of nodes that are left out for other reasons.
 */
export function keysLeftOut(
  place: Place,
  nodes: Iterable<string>,
  { excluded, around }: SelectedNodes,
  leftOut: readonly string[] = [],
): (key: string) => boolean {
  const rootsOf = (paths: Iterable<string>) =>
    new Set<string>(Array.from(paths, (path) => rootIn(place, path)));
  const roots = rootsOf(nodes);
  const left = rootsOf([...leftOut, ...excluded]);
  const outer = rootsOf(around);
  const isAll = left.size === 0 && outer.size === 0;
  return (key) => {
    let folder = isAll ? "" : key;
    for (let depth = 0; folder !== ""; depth++) {
      folder = folder.slice(0, folder.lastIndexOf("/"));
      if (left.has(folder)) return true;
      if (roots.has(folder)) return depth > 0 && outer.has(folder);
    }
    return false;
  };
}

/** Whether a set has a path, or one above it but for the outermost node. */
export function isIn(set: ReadonlySet<string>, path: string): boolean {
  return set.size > 0 &&
    (set.has(path) || pathsAbove(path).some((above) => set.has(above)));
}

/** The paths of the groups above a node, without the outermost one: `a` and `a/b` for `a/b/c`. */
function pathsAbove(path: string): string[] {
  const names = path.split("/");
  return names.slice(1).map((_, i) => names.slice(0, i + 1).join("/"));
}

/** The paths that match one of several globs. */
async function matches(
  name: "only" | "exclude",
  given: string | readonly string[],
  paths: readonly string[],
): Promise<Set<string>> {
  const globs = typeof given === "string" ? [given] : given;
  const found = new Set<string>();
  for (const glob of globs) {
    const isMatch = await matcherOf(name, glob);
    const matched = paths.filter(isMatch);
    if (matched.length === 0) throw noMatchError(name, glob, paths);
    for (const path of matched) found.add(path);
  }
  return found;
}

async function matcherOf(
  name: string,
  glob: string,
): Promise<(path: string) => boolean> {
  // Messages and trees show paths that begin with a slash.
  const relative = glob.replace(/^(?:\.?\/)+/, "").replace(/\/+$/, "");
  const expected = expectedGlob(relative, name);
  if (expected !== undefined) {
    throw new RangeError(
      `Expected the option "${name}" to have globs ${expected}, found ${
        describe(glob)
      }`,
    );
  }
  const { default: picomatch } = await import("picomatch");
  // Names that begin with a dot are not special, and every character is as it is written.
  // For picomatch, "a/**" matches "a", and "*/**" does not.
  const short = relative.replace(/(?<=[^/])(?:\/+\*\*)+$/, "");
  const isMatch = picomatch([relative, short], { dot: true, nonegate: true });
  return (path) => isMatch(path);
}

/** The most stars in one name of a glob, and the most `**` in a glob. */
const MOST_STARS = 3;
/** The most characters of a glob, far below those of the longest regular expression. */
const MOST_CHARACTERS = 4096;

/**
 * Returns what is expected in place of a glob that names no nodes, or that may take hours to
 * match; `undefined` for other globs. The regular expressions of picomatch try all places of each star, and the names of nodes
 * may be chosen to have many.
 */
function expectedGlob(glob: string, option: string): string | undefined {
  if (glob === "" || glob === ".") {
    return 'of paths below the group, such as "0" or "labels/**"';
  }
  if (/^!(?!\()/.test(glob)) {
    return `without a first "!", since the option "${
      option === "only" ? "exclude" : "only"
    }" chooses the other nodes`;
  }
  if (glob.length > MOST_CHARACTERS) {
    return `of at most ${MOST_CHARACTERS} characters`;
  }
  if (/(?<!\\)(?:\\\\)*(?:\(|\]\+)/.test(glob)) {
    return 'with "{a,b}" in place of groups such as "+(a|b)"; a parenthesis of a name is "\\("';
  }
  const names = glob.replace(/\\./g, "").split("/");
  const stars = (name: string) => name.match(/\*+/g)?.length ?? 0;
  if (names.some((name) => stars(name) > MOST_STARS)) {
    return `with at most ${MOST_STARS} stars in a name`;
  }
  if (names.filter((name) => name === "**").length > MOST_STARS) {
    return `with at most ${MOST_STARS} times "**"`;
  }
  return undefined;
}

/** The number of paths that a message names. */
const MOST_NAMED = 3;

function noMatchError(
  name: string,
  glob: string,
  paths: readonly string[],
): RangeError {
  const nearest = paths
    .map((path) => ({ path, steps: distance(glob, path) }))
    .sort((a, b) => a.steps - b.steps)
    .slice(0, MOST_NAMED)
    .map(({ path }) => describe(path));
  return new RangeError(
    `The glob ${
      describe(glob)
    } of the option "${name}" matches no node of the group; the nearest of ${paths.length} are ${
      nearest.join(", ")
    }`,
  );
}
