import { describeValue } from "../describe_value.ts";
import { ifPresentSync } from "./absence.ts";
import { rootPath } from "./path.ts";

/** A path that a store may read. */
export interface AllowedPath {
  readonly path: string;
  /** The linked folder that holds the path; `undefined` for a path below the root. */
  readonly folder?: string;
}

/** The folders outside of a store's root that symbolic links may lead to. */
export class LinkedFolders {
  /** The paths as they were given, since permissions may name links. */
  readonly #paths: readonly string[];

  constructor(folders: readonly (string | URL)[]) {
    if (!Array.isArray(folders)) {
      throw new TypeError(
        `Expected "followLinksInto" to be a list of folders, found ${
          describeValue(folders)
        }`,
      );
    }
    this.#paths = folders.map(rootPath);
    if (this.#paths.includes("")) {
      throw new RangeError(
        'Expected "followLinksInto" to have paths of folders, found ""',
      );
    }
  }

  get isEmpty(): boolean {
    return this.#paths.length === 0;
  }

  /** Finds a real path in the folders. These are looked up each time, since they may be links that change. */
  find(real: string): AllowedPath | undefined {
    for (const folder of this.#paths) {
      const found = ifPresentSync(() => Deno.realPathSync(folder));
      const relative = below(found, real);
      if (relative !== undefined) {
        return { path: joined(folder, relative), folder };
      }
    }
  }

  toString(): string {
    return this.#paths.join(", ");
  }
}

/** A path relative to a folder: "" for the folder itself, `undefined` for a path outside of it. */
export function below(
  folder: string | undefined,
  path: string,
): string | undefined {
  if (folder === undefined) return undefined;
  const separator = Deno.build.os === "windows" ? "\\" : "/";
  const inside = folder.endsWith(separator) ? folder : folder + separator;
  return (path + separator).startsWith(inside)
    ? path.slice(inside.length)
    : undefined;
}

/** Joins a folder and a relative path as {@linkcode below} returns it. */
export function joined(folder: string, relative: string): string {
  return relative === "" ? folder : `${folder}/${relative}`;
}
