import { assertEquals } from "@std/assert";
import { ConcatParts, type StoreOptions } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import {
  type Fate,
  observedStream,
  piecesOf,
} from "../support/observed_stream.ts";
import type { OnStep } from "../support/stepped_store.ts";
import { type Below, type Kind, withStore } from "./stores_below.ts";

export const PARTS: ConcatParts = new ConcatParts([
  { keySuffix: ".h", size: 3 },
  { keySuffix: "" },
  { keySuffix: ".t", size: 2 },
]);
export const KEY = "/c/0";
/** The parts' keys in the order in which they are stored. */
export const STORING_ORDER = [KEY, `${KEY}.h`, `${KEY}.t`] as const;

/** The chunks that exist before a write. */
export const BEFORE = {
  "the earlier chunk": ["/c/9", KEY],
  "no chunk": ["/c/9"],
  "no folder": [],
} as const;
export type Before = keyof typeof BEFORE;

/** One step of a write: the `count`th of its name, before or after it is done. */
export interface Point {
  step: string;
  isDone: boolean;
  count: number;
}

export function isSame(a: Point, b: Point): boolean {
  return a.step === b.step && a.isDone === b.isDone && a.count === b.count;
}

export interface Outcome {
  /** The reason of the rejection, or `undefined` if the chunk was stored. */
  error: unknown;
  fate: Fate;
  /** All values before the write. */
  before: Record<string, unknown>;
  /** The chunk that is stored now, and the chunk that was to be stored. */
  stored: Uint8Array | undefined;
  chunk: Uint8Array;
}

/** Sets a chunk from a stream, and tells `onPoint` of each step of the store below. */
export async function setStream(
  below: Below,
  before: Before,
  onPoint: (point: Point) => void | Promise<void>,
  options?: StoreOptions,
): Promise<Outcome> {
  const plain = PARTS.apply(below.open());
  for (const key of BEFORE[before]) {
    await plain.set!(key, countingBytes(20, 100));
  }
  const contents = await below.contents();
  const chunk = countingBytes(9);
  const { stream, fate } = observedStream(piecesOf(chunk, 2));
  const composed = PARTS.apply(below.open(atPoints(onPoint)));
  let error: unknown;
  await composed.set!(KEY, stream, options).catch((reason) => error = reason);
  return {
    error,
    fate: fate(),
    before: contents,
    stored: await plain.get(KEY),
    chunk,
  };
}

/** All points of a write that succeeds. */
export async function pointsOf(kind: Kind, before: Before): Promise<Point[]> {
  const points: Point[] = [];
  await withStore(kind, async (below) => {
    const { error, stored, chunk } = await setStream(below, before, (point) => {
      points.push(point);
    });
    assertEquals(error, undefined);
    assertEquals(stored, chunk);
  });
  return points;
}

function atPoints(act: (point: Point) => void | Promise<void>): OnStep {
  const counts = new Map<string, number>();
  return (step, isDone) => {
    const count = (counts.get(`${step} ${isDone}`) ?? 0) + 1;
    counts.set(`${step} ${isDone}`, count);
    return act({ step, isDone, count });
  };
}
