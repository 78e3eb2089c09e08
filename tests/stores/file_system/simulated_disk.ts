/**
 * A file system as plain data, which is copied before each operation. A process keeps
 * the files that it has opened, and their locks, until it closes them or is killed.
 */

import { isJournal, isLock, splitPath } from "../../../src/stores/store_key.ts";

/** The contents of a file. A text has a character for each byte. */
export interface Inode {
  readonly text: string;
  readonly mtime: number;
}

/** The files that one process has opened and locked. */
export interface Descriptors {
  /** The inode numbers of open files, by handle. */
  readonly open: Readonly<Record<number, number>>;
  /** The handles that hold locks. */
  readonly locks: readonly number[];
  /** The last lock that was not free: its inode, and the path where it was found. */
  readonly blocked: { readonly ino: number; readonly path: string } | undefined;
  /** The paths of open files, by handle. */
  readonly paths: Readonly<Record<number, string>>;
}

export const NO_DESCRIPTORS: Descriptors = {
  open: {},
  locks: [],
  blocked: undefined,
  paths: {},
};

export interface Disk {
  /** The inode numbers of names. */
  readonly names: Readonly<Record<string, number>>;
  /** `null` for a number that the next new file gets. */
  readonly inodes: readonly (Inode | null)[];
  readonly processes: readonly Descriptors[];
  /** The time in milliseconds, also of changes: file systems have coarse clocks. */
  readonly clock: number;
}

/** An operation and its arguments: paths, handles, texts. */
export type Request = readonly [name: string, ...args: (string | number)[]];

/** The result of an operation: an error, or a value that is `null` for `undefined`. */
export type Result = { readonly error: string } | { readonly value: Value };
export type Value =
  | string
  | number
  | boolean
  | null
  | { ino: number; mtime: number; size: number };

/** A disk after an operation. */
export interface Step {
  readonly disk: Disk;
  readonly result: Result;
}

/** Does one operation of a process. `handle` is the number of a file that is opened. */
export function operate(
  disk: Disk,
  process: number,
  [name, ...args]: Request,
  handle: number,
): Step {
  const [a, b] = args;
  const mine = disk.processes[process]!;
  const same = (value: Value): Step => ({ disk, result: { value } });
  const fail = (error: string): Step => ({ disk, result: { error } });
  const changed = (change: Partial<Disk>, value: Value = null): Step => ({
    disk: { ...disk, ...change },
    result: { value },
  });
  const withMine = (change: Partial<Descriptors>) =>
    disk.processes.with(process, { ...mine, ...change });
  const opened = (ino: number, path: string) =>
    withMine({
      open: { ...mine.open, [handle]: ino },
      paths: { ...mine.paths, [handle]: path },
    });
  const state = (ino: number) => {
    const { text, mtime } = disk.inodes[ino]!;
    return { ino, mtime, size: text.length };
  };
  const write = (ino: number, text: string): Step =>
    changed({ inodes: disk.inodes.with(ino, { text, mtime: disk.clock }) });
  const ino = typeof a === "number" ? mine.open[a]! : disk.names[a!]!;
  const text = () => disk.inodes[ino]!.text;
  switch (name) {
    case "list":
      return same(Object.keys(disk.names).sort().join(" "));
    case "now":
      return same(disk.clock);
    case "stat":
      return same(ino === undefined ? null : state(ino));
    case "open":
      if (ino === undefined) return same(null);
      return changed({ processes: opened(ino, a as string) }, true);
    case "create":
    case "openOrCreate": {
      if (ino !== undefined) {
        if (name === "create") return fail("EEXIST");
        return changed({ processes: opened(ino, a as string) }, true);
      }
      const created = freeInode(disk, a as string);
      const inodes = [...disk.inodes];
      while (inodes.length < created) inodes.push(null);
      inodes[created] = { text: "", mtime: disk.clock };
      return changed({
        inodes,
        names: { ...disk.names, [a!]: created },
        processes: opened(created, a as string),
      }, true);
    }
    case "touch":
      return ino === undefined ? fail("ENOENT") : write(ino, text());
    case "rename": {
      if (ino === undefined) return fail("ENOENT");
      const { [a!]: _, ...names } = disk.names;
      return collected(changed({ names: { ...names, [b!]: ino } }));
    }
    case "remove": {
      if (ino === undefined) return same(null);
      const { [a!]: _, ...names } = disk.names;
      return collected(changed({ names }));
    }
    case "handleStat":
      return same(state(ino));
    case "tryLock": {
      const isHeld = disk.processes.some(({ open, locks }, i) =>
        locks.some((each) =>
          open[each] === ino && (i !== process || each !== a)
        )
      );
      if (isHeld) {
        const path = mine.paths[a as number]!;
        return changed(
          { processes: withMine({ blocked: { ino, path } }) },
          false,
        );
      }
      const locks = [...mine.locks, a as number];
      return changed(
        { processes: withMine({ locks, blocked: undefined }) },
        true,
      );
    }
    case "read":
      return same(text());
    case "append":
      return write(ino, text() + b);
    case "replace":
      return write(ino, b as string);
    case "wait":
      return changed({ processes: withMine({ blocked: undefined }) });
    case "close": {
      const { [a as number]: _, ...open } = mine.open;
      const { [a as number]: __, ...paths } = mine.paths;
      const locks = mine.locks.filter((each) => each !== a);
      return collected(
        changed({ processes: withMine({ open, locks, paths }) }),
      );
    }
  }
  throw new Error(`Expected an operation of the disk, found ${name}`);
}

/** One more than the most files of a chunk. */
const INODE_STEP = 4;

/**
 * The number for a new file: the lowest free one of those for the same part, or of those for
 * journals. So a file that replaces another one gets its number as soon as that is free, and the
 * order in which processes create other files makes no difference.
 */
function freeInode({ inodes }: Disk, path: string): number {
  const { name } = splitPath(path);
  const part = isLock(name) ? 0 : Number(name.at(-1));
  let ino = isJournal(name) ? INODE_STEP - 1 : part % (INODE_STEP - 1);
  while (inodes[ino]) ino += INODE_STEP;
  return ino;
}

/** Whether a process that waits would find something new: its lock is free, or the file is another one. */
export function isWorthTrying(disk: Disk, process: number): boolean {
  const { blocked } = disk.processes[process]!;
  if (blocked === undefined || disk.names[blocked.path] !== blocked.ino) {
    return true;
  }
  return !disk.processes.some(({ open, locks }) =>
    locks.some((each) => open[each] === blocked.ino)
  );
}

/** The disk without what a process had opened. */
export function endProcess(disk: Disk, process: number): Disk {
  const processes = disk.processes.with(process, NO_DESCRIPTORS);
  return collect({ ...disk, processes });
}

function collected(step: Step): Step {
  return { ...step, disk: collect(step.disk) };
}

/** Frees the inodes that have no name and are not open. Their numbers are given to new files at once. */
function collect(disk: Disk): Disk {
  const used = new Set<number>(Object.values(disk.names));
  for (const { open } of disk.processes) {
    for (const ino of Object.values(open)) used.add(ino);
  }
  const isFreed = disk.inodes.some((each, i) => each !== null && !used.has(i));
  if (!isFreed) return disk;
  const inodes = disk.inodes.map((each, i) => used.has(i) ? each : null);
  return { ...disk, inodes };
}
