/** One split and one join. Each of their steps can fail, wait, or see an abort. */
import { assertEquals } from "@std/assert";
import {
  concatStream,
  type EngineName,
  FileSystemStore,
  type Part,
  type SplitOptions,
  splitStream,
} from "../../mod.ts";
import { noise } from "../checksum/noise.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import {
  inPieces,
  partsOf,
  placeOf,
  type Sizes,
  withChecksum,
} from "./oracle.ts";
import {
  probedSource,
  settle,
  type SinkKind,
  Sinks,
  type Source,
  type SourceKind,
} from "./probes.ts";

/** A step by its name and how often that name came before, such as `write .1` and 0. */
export interface Step {
  readonly name: string;
  readonly count: number;
}

/** Is called before each step; may throw or wait. */
export type OnStep = (step: Step) => unknown;

export const SIZES: Sizes = [3, undefined, 4];
export const CHUNK: Uint8Array<ArrayBuffer> = withChecksum(noise(13));

/** How a chunk is split. */
export interface SplitScenario {
  readonly from: SourceKind;
  readonly to: SinkKind;
  readonly engine: EngineName;
  readonly isKnown: boolean;
  readonly options?: SplitOptions;
}

/** A split, with its probes. */
export interface Split {
  readonly source: Source;
  readonly sinks: Sinks;
  readonly splitting: Promise<unknown>;
}

/** Splits a chunk of 17 bytes in pieces of 5. */
export function split(
  { from, to, engine, isKnown, options }: SplitScenario,
  on: OnStep = () => {},
): Split {
  const step = counted(on);
  const pieces = inPieces(CHUNK, [5]);
  const source = probedSource(from, pieces, () => step("read"));
  const sinks = new Sinks(to, step);
  const splitting = splitStream(source.source, partsOf(SIZES), sinks.open, {
    engine,
    crc32c: "verify",
    chunkSize: isKnown ? CHUNK.length : undefined,
    ...options,
  });
  splitting.catch(() => {});
  return { source, sinks, splitting };
}

/** All steps of a split that succeeds. */
export async function stepsOfSplit(scenario: SplitScenario): Promise<Step[]> {
  const steps: Step[] = [];
  const { splitting } = split(scenario, (step) => steps.push(step));
  await splitting;
  return steps;
}

/** Parts of six bytes; the second has a size. */
export const THREE: readonly (number | undefined)[] = [undefined, 6, undefined];

/** How parts are joined. */
export interface JoinScenario {
  readonly from: SourceKind;
  readonly engine: EngineName;
  readonly crc32c: "none" | "compute";
  readonly options?: SplitOptions;
}

/** A join, with its probes. */
export interface Join {
  readonly stream: ReadableStream<Uint8Array>;
  /** The parts that were opened. */
  readonly sources: Source[];
  readonly reports: unknown[];
}

/** The chunk that {@linkcode join} joins. */
export const JOINED: Uint8Array = Uint8Array.of(
  ...[1, 2, 3].flatMap((seed) => [...noise(6, seed)]),
);

/** Joins three parts of 6 bytes in pieces of 2. */
export function join(
  { from, engine, crc32c, options }: JoinScenario,
  on: OnStep = () => {},
): Join {
  const step = counted(on);
  const sources: Source[] = [];
  const reports: unknown[] = [];
  const open = async (part: Part) => {
    await step(`open ${part.keySuffix}`);
    const source = probedSource(
      from,
      inPieces(noise(6, placeOf(part) + 1), [2]),
      () => step(`read ${part.keySuffix}`),
    );
    sources.push(source);
    return source.source;
  };
  const stream = concatStream(partsOf(THREE), open, {
    engine,
    crc32c,
    onReport: (report) => reports.push(report),
    ...options,
  });
  return { stream, sources, reports };
}

/** All steps of a join that succeeds. */
export async function stepsOfJoin(scenario: JoinScenario): Promise<Step[]> {
  const steps: Step[] = [];
  const { stream } = join(scenario, (step) => steps.push(step));
  await Array.fromAsync(stream);
  return steps;
}

/** Stores a stream in an empty folder, and asserts that no file is left if that fails. */
export async function store(
  stream: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined;
  await inTempDir(async (folder) => {
    const files = new FileSystemStore(folder);
    try {
      await files.set("/x", stream, signal && { signal });
    } catch (error) {
      await settle();
      assertEquals(await Array.fromAsync(Deno.readDir(folder)), []);
      throw error;
    }
    bytes = await files.get("/x");
  });
  return bytes!;
}

function counted(on: OnStep): (name: string) => unknown {
  const counts = new Map<string, number>();
  return (name) => {
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return on({ name, count });
  };
}
