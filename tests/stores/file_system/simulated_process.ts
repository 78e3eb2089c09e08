/**
 * Processes that run the code of the file store on a simulated disk. The code depends on
 * the results of its operations alone, so that these results say where a process is.
 * Each such point is found once, by running the code anew on the results that led there.
 */
import { assertEquals } from "@std/assert";
import type { FileContext } from "../../../src/stores/file_system/read_files.ts";
import type { Folders } from "../../../src/stores/file_system/root.ts";
import {
  type FileState,
  type OpenFile,
  OpenFiles,
  type System,
} from "../../../src/stores/file_system/system.ts";
import { splitPath } from "../../../src/stores/store_key.ts";
import type { Request, Result, Value } from "./simulated_disk.ts";

/** The environment of a process. */
export interface Environment {
  /** The name of the process, which its temporary files have too. */
  readonly name: string;
  readonly context: FileContext;
  readonly signal: AbortSignal;
  /** Lists the names of all files, with their paths. */
  list(): Promise<string[]>;
}

/** The code of a process. Returns what it has achieved. */
export type Program = (environment: Environment) => Promise<string>;

/** Where a process is: it waits for the result of an operation, or has ended. */
export class Point {
  static #count = 0;
  readonly id = Point.#count++;
  /** The operation that the process does next, or how it ended. */
  readonly next: Request | { readonly outcome: string };
  /** The number of files that the process has opened. */
  readonly opened: number;
  readonly #name: string;
  readonly #program: Program;
  readonly #history: readonly Turn[];
  readonly #isAborted: boolean;
  readonly #after = new Map<string, Point>();
  #run: Run | undefined;

  private constructor(
    name: string,
    program: Program,
    history: readonly Turn[],
    next: Request | { readonly outcome: string },
    opened: number,
    run: Run | undefined,
  ) {
    this.#name = name;
    this.#program = program;
    this.#history = history;
    this.#isAborted = run === undefined;
    this.#run = run;
    this.opened = opened;
    this.next = next;
  }

  static async start(name: string, program: Program): Promise<Point> {
    const run = new Run(name, program, []);
    await run.pause;
    return new Point(name, program, [], run.next, 0, run);
  }

  get outcome(): string | undefined {
    return "outcome" in this.next ? this.next.outcome : undefined;
  }

  get isAborted(): boolean {
    return this.#isAborted || this.#history.some(({ isAborted }) => isAborted);
  }

  /** The number of operations so far. */
  get length(): number {
    return this.#history.length;
  }

  /** The point after a result, if it has been found already. */
  known(result: Result): Point | undefined {
    return this.#after.get(JSON.stringify(result));
  }

  /** Runs the code to the point after a result. */
  async after(result: Result): Promise<Point> {
    const known = this.known(result);
    if (known !== undefined) return known;
    const request = this.next as Request;
    const turn = { request, result, isAborted: this.#isAborted };
    const history = [...this.#history, turn];
    const run = this.#run?.isWaiting
      ? this.#run.resume(turn)
      : new Run(this.#name, this.#program, history);
    this.#run = undefined;
    await run.pause;
    const isOpened = OPENING.has(request[0]) && "value" in result &&
      result.value !== null;
    const point = new Point(
      this.#name,
      this.#program,
      history,
      run.next,
      this.opened + (isOpened ? 1 : 0),
      run,
    );
    this.#after.set(JSON.stringify(result), point);
    return point;
  }

  /** The same point with an aborted signal. */
  aborted(): Point {
    const known = this.#after.get("abort");
    if (known !== undefined) return known;
    const point = new Point(
      this.#name,
      this.#program,
      this.#history,
      this.next,
      this.opened,
      undefined,
    );
    this.#after.set("abort", point);
    return point;
  }
}

const OPENING = new Set(["open", "create", "openOrCreate"]);

/** An operation that was done, and whether the signal had been aborted in between. */
interface Turn {
  readonly request: Request;
  readonly result: Result;
  readonly isAborted: boolean;
}

let runs = 0;
/** The only run whose code is not waiting. */
let active: Run | undefined;

/** The number of times that code was run from its start. */
export function countRuns(): number {
  return runs;
}

/** Gives the temporary files of processes names that are the same in each run. */
export async function withSimulatedNames<T>(
  task: () => Promise<T>,
): Promise<T> {
  const original = crypto.randomUUID;
  crypto.randomUUID = () =>
    active?.nextName() as ReturnType<typeof original> ?? original.call(crypto);
  try {
    return await task();
  } finally {
    crypto.randomUUID = original;
    active = undefined;
  }
}

/** The code of a process that runs on known results, and then waits for the next one. */
class Run {
  /** Locks inside of a program go by path, and a run may wait for ever with a lock. */
  readonly #prefix = `/${runs++}`;
  readonly #name: string;
  readonly #controller = new AbortController();
  #history: readonly Turn[];
  #position = 0;
  #names = 0;
  #handles = 0;
  #next: Request | { readonly outcome: string } | undefined;
  #resume: ((turn: Turn) => void) | undefined;
  #paused!: () => void;
  #problem: Error | undefined;
  /** Whether the run had to stop in the middle of synchronous code. */
  #isOver = false;
  pause!: Promise<void>;

  constructor(name: string, program: Program, history: readonly Turn[]) {
    this.#name = name;
    this.#history = history;
    this.#prepare();
    const end = (outcome: string) => this.#stop({ outcome });
    program(this.#environment()).then(end, (error) => end(describe(error)));
  }

  get next(): Request | { readonly outcome: string } {
    if (this.#problem !== undefined) throw this.#problem;
    return this.#next!;
  }

  /** Whether the run can go on. It cannot if it had to stop in the middle of synchronous code. */
  get isWaiting(): boolean {
    return this.#resume !== undefined;
  }

  resume(turn: Turn): Run {
    const resume = this.#resume!;
    this.#resume = undefined;
    this.#prepare();
    resume(turn);
    return this;
  }

  nextName(): string {
    return `${this.#name}${this.#names++}`;
  }

  #prepare() {
    active = this; // deno-lint-ignore-line no-this-alias -- one run at a time
    this.#next = undefined;
    this.pause = new Promise((resolve) => this.#paused = resolve);
  }

  #stop(next: Request | { readonly outcome: string }) {
    if (this.#isOver) return;
    if (this.#next !== undefined) {
      this.#problem ??= new Error(
        `Process ${this.#name} does ${JSON.stringify(next)} beside ${
          JSON.stringify(this.#next)
        }`,
      );
      return;
    }
    this.#next = next;
    this.#paused();
  }

  /** The result of an operation that was done before. */
  #known(request: Request): Value | undefined {
    if (this.#position >= this.#history.length) return undefined;
    const turn = this.#history[this.#position++]!;
    assertEquals(request, turn.request, "A process must do the same again");
    return this.#take(turn);
  }

  #take({ result, isAborted }: Turn): Value {
    if (isAborted) this.#controller.abort();
    if ("value" in result) return result.value;
    const { error } = result;
    const types: Record<string, new (message: string) => Error> = {
      ENOENT: Deno.errors.NotFound,
      EEXIST: Deno.errors.AlreadyExists,
      EACCES: Deno.errors.PermissionDenied,
    };
    throw Object.assign(new (types[error] ?? Error)(error), { code: error });
  }

  async #do(...request: Request): Promise<Value> {
    const known = this.#known(request);
    if (known !== undefined) return known;
    this.#stop(request);
    const turn = await new Promise<Turn>((resolve) => {
      if (!this.#isOver) this.#resume = resolve;
    });
    this.#history = [];
    this.#position = 0;
    return this.#take(turn);
  }

  /** Does an operation of synchronous code, which cannot wait: the run ends, and another one is made. */
  #doNow(...request: Request): Value {
    const known = this.#known(request);
    if (known !== undefined) return known;
    this.#stop(request);
    this.#isOver = true;
    throw new Error("The run ends here");
  }

  #environment(): Environment {
    const folder = (key: string) => this.#prefix + key;
    const key = (path: string) => path.slice(this.#prefix.length);
    const open = async (operation: string, path: string) => {
      const isThere = await this.#do(operation, key(path));
      return isThere === null ? undefined : this.#file(this.#handles++);
    };
    const system: System = {
      open: (path) => open("open", path),
      create: async (path) => (await open("create", path))!,
      openOrCreate: async (path) => (await open("openOrCreate", path))!,
      stat: async (path) => state(await this.#do("stat", key(path))),
      touch: async (path) => void await this.#do("touch", key(path)),
      rename: async (from, to) =>
        void await this.#do("rename", key(from), key(to)),
      remove: async (path) => void await this.#do("remove", key(path)),
      syncFolder() {},
      now: () => this.#doNow("now") as number,
      wait: async (milliseconds, signal) => {
        signal?.throwIfAborted();
        await this.#do("wait", milliseconds);
        signal?.throwIfAborted();
      },
    };
    const root: Folders = {
      path: this.#prefix,
      open: (key) =>
        this.#doNow("open", key) === null
          ? undefined
          : this.#file(this.#handles++),
      find: (key) => {
        const found = state(this.#doNow("stat", key));
        return found && { path: folder(key), state: found };
      },
      state: (key) => state(this.#doNow("stat", key)),
      has: () => true, // What is found makes no difference to writers.
      follow: folder,
      folderFor: (key) => folder(splitPath(key).folder),
      ensureFolder: folder,
    };
    const openFiles = new OpenFiles(Infinity); // Killed programs never close their files.
    const context = { system, root, openFiles, isSynced: false };
    const list = async () => {
      const names = await this.#do("list") as string;
      return names === "" ? [] : names.split(" ").map(folder);
    };
    const { signal } = this.#controller;
    return { name: this.#name, context, signal, list };
  }

  #file(handle: number): OpenFile {
    let known: FileState | undefined;
    let users = 1;
    const stat = () => known ??= state(this.#doNow("handleStat", handle))!;
    return {
      stat,
      size: () => stat().size,
      tryLock: async () => await this.#do("tryLock", handle) as boolean,
      fill: async (memory, offset) => {
        const text = await this.#do("read", handle) as string;
        const bytes = encode(text).subarray(offset, offset + memory.length);
        memory.set(bytes);
        return bytes.length;
      },
      append: async (bytes) =>
        void await this.#do("append", handle, decode(bytes)),
      replace: async (bytes) =>
        void await this.#do("replace", handle, decode(bytes)),
      sync() {},
      retain: () => void users++,
      close: () => {
        if (--users === 0) this.#doNow("close", handle);
      },
    };
  }
}

function state(value: Value): FileState | undefined {
  return value === null
    ? undefined
    : { dev: 1, ...value as object } as FileState;
}

function describe(error: unknown): string {
  const { name, message } = error as Error;
  return `${name}: ${message}`;
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
