/**
 * Which operations may be done together with the operation before, so that fewer
 * orders have to be explored: those that no process can tell from the same operation
 * at a later time. This is assumed by the kind of operation, and checked for each.
 */
import {
  isLock,
  isTemporary,
  splitPath,
} from "../../../src/stores/store_key.ts";
import type { Disk, Request } from "./simulated_disk.ts";

/** A thing that an operation reads or changes: a name, the contents of an inode or its lock. */
export interface Touch {
  readonly kind: string;
  readonly thing: string;
  readonly isChange: boolean;
}

/** The kinds of operations on files that one process alone has the name of, or that are open. */
const PRIVATE = new Set([
  "now",
  "create",
  "handleStat",
  "read",
  "append",
  "replace",
  "touch",
  "tryLock temporary",
  "stat temporary",
  "remove temporary",
  "close temporary",
  "close unlocked",
]);

/** An operation was taken for private, and was not: its kind has to be explored in all orders. */
export class ConflictError extends Error {
  constructor(readonly kind: string) {
    super(`Operations of the kind "${kind}" are not private`);
  }
}

/** The kinds of operations that count as private, until a conflict is found. */
export class Privacy {
  readonly #visible = new Set<string>();

  /** Explores all orders of a kind of operation from now on. */
  reveal(kind: string): void {
    this.#visible.add(kind);
  }

  revealAll(): void {
    for (const kind of PRIVATE) this.#visible.add(kind);
  }

  isPrivate(disk: Disk, process: number, request: Request): boolean {
    const kind = kindOf(disk, process, request);
    return PRIVATE.has(kind) && !this.#visible.has(kind);
  }
}

/** Throws if an operation touches what another process has touched by a private operation. */
export function assertNoConflict(
  touches: readonly Touch[],
  others: readonly Touch[],
): void {
  for (const { thing, isChange } of touches) {
    for (const other of others) {
      const isSame = other.thing === thing ||
        thing === "all names" && other.thing.startsWith("name ");
      if (isSame && (isChange || other.isChange)) {
        throw new ConflictError(other.kind);
      }
    }
  }
}

function kindOf(disk: Disk, process: number, [name, a]: Request): string {
  const { locks, paths } = disk.processes[process]!;
  const path = typeof a === "number" ? paths[a] : a;
  const file = path === undefined ? "" : splitPath(path).name;
  const isOwn = isTemporary(file) && !isLock(file);
  if (name === "close" && !locks.includes(a as number)) return "close unlocked";
  const isNamed = ["tryLock", "stat", "remove", "close"].includes(name);
  return isNamed && isOwn ? `${name} temporary` : name;
}

/** The names that an operation reads and changes. */
export function touchesOf(
  disk: Disk,
  process: number,
  request: Request,
): Touch[] {
  const [name, a, b] = request;
  const kind = kindOf(disk, process, request);
  const mine = disk.processes[process]!;
  const ino = typeof a === "number" ? mine.open[a] : disk.names[a!];
  const isThere = ino !== undefined;
  const touch = (thing: string, isChange: boolean) => ({
    kind,
    thing,
    isChange,
  });
  switch (name) {
    case "list":
      return [touch("all names", false)];
    case "open":
      return [touch(`name ${a}`, false)];
    case "stat":
      return [touch(`name ${a}`, false), touch(`contents ${ino}`, false)];
    case "create":
    case "openOrCreate":
      return [touch(`name ${a}`, !isThere)];
    case "touch":
      return [touch(`name ${a}`, false), touch(`contents ${ino}`, true)];
    case "rename":
      return [touch(`name ${a}`, true), touch(`name ${b}`, true)];
    case "remove":
      return [touch(`name ${a}`, isThere)];
    case "handleStat":
    case "read":
      return [touch(`contents ${ino}`, false)];
    case "append":
    case "replace":
      return [touch(`contents ${ino}`, true)];
    case "tryLock":
      return [touch(`lock ${ino}`, true)];
    case "close":
      return mine.locks.includes(a as number)
        ? [touch(`lock ${ino}`, true)]
        : [];
  }
  return [];
}
