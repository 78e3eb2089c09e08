import { assertEquals } from "@std/assert";
import { ConcatParts } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { observedStream, piecesOf } from "../support/observed_stream.ts";
import { type Kind, withStore } from "./stores_below.ts";
import {
  KEY,
  PARTS,
  pointsOf,
  setStream,
  STORING_ORDER,
} from "./set_stream.ts";

/** The steps of a write; `✓` marks their ends. Steps that run at the same time are sorted. */
async function stepsOf(kind: Kind, verbs: RegExp): Promise<string[]> {
  const steps = (await pointsOf(kind, "the earlier chunk"))
    .filter(({ step, isDone }) =>
      verbs.test(step) && !(isDone && step.startsWith("get"))
    )
    .map(({ step, isDone }) => `${isDone ? "✓ " : ""}${step}`);
  const at = steps.findIndex((step) => step.startsWith("get"));
  return at < 0
    ? steps
    : steps.toSpliced(at, 3, ...steps.slice(at, at + 3).sort());
}

/** The reads of the earlier parts, which are kept in memory. */
const KEPT = ["", ".h", ".t"].map((suffix) => `get ${KEY}${suffix}`);

Deno.test("ConcatParts.apply: set of a stream writes parts in their order, reads the earlier parts, and closes the unsized, head and tail parts", async () => {
  assertEquals(await stepsOf("files", /^(writer|write|get|close|set) /), [
    `writer ${KEY}.h`,
    // Pieces are of two bytes, and the last two are held back.
    ...[`write ${KEY}.h`, `✓ write ${KEY}.h`],
    ...[`write ${KEY}.h`, `✓ write ${KEY}.h`],
    `writer ${KEY}`,
    ...[`write ${KEY}`, `✓ write ${KEY}`],
    ...[`write ${KEY}`, `✓ write ${KEY}`],
    ...[`write ${KEY}`, `✓ write ${KEY}`],
    `writer ${KEY}.t`,
    ...[`write ${KEY}.t`, `✓ write ${KEY}.t`],
    ...KEPT,
    ...[`close ${KEY}`, `✓ close ${KEY}`],
    ...[`close ${KEY}.h`, `✓ close ${KEY}.h`],
    ...[`close ${KEY}.t`, `✓ close ${KEY}.t`],
  ]);
});

Deno.test("ConcatParts.apply: set of a stream sets streams for all parts, reads the earlier parts, and ends the streams in turn", async () => {
  for (const kind of ["memory", "files without writers"]) {
    assertEquals(await stepsOf(kind, /^(set|get) /), [
      `set ${KEY}.h`,
      `set ${KEY}`,
      `set ${KEY}.t`,
      ...KEPT,
      `✓ set ${KEY}`,
      `✓ set ${KEY}.h`,
      `✓ set ${KEY}.t`,
    ]);
  }
});

Deno.test("ConcatParts.apply: set of a stream sets bytes one part after another if the store takes no streams", async () => {
  assertEquals(await stepsOf("bytes alone", /^set /), [
    `set ${KEY}`,
    `✓ set ${KEY}`,
    `set ${KEY}.h`,
    `✓ set ${KEY}.h`,
    `set ${KEY}.t`,
    `✓ set ${KEY}.t`,
  ]);
});

Deno.test("ConcatParts.apply: set of a stream that succeeds aborts no writer and restores nothing", async () => {
  assertEquals(await stepsOf("files", /^(abort|set|delete) /), []);
});

Deno.test("ConcatParts.apply: set of a stream that fails aborts the writers that are open, and restores the parts that are closed", async () => {
  for (const [closed, failing] of STORING_ORDER.entries()) {
    await withStore("files", async (below) => {
      const steps: string[] = [];
      await setStream(below, "the earlier chunk", ({ step, isDone }) => {
        if (step === `close ${failing}`) throw new Error("Disk on fire");
        if (isDone && /^(abort|set) /.test(step)) steps.push(step);
      });
      assertEquals(
        steps.slice(0, closed),
        STORING_ORDER.slice(0, closed).map((key) => `set ${key}`),
      );
      assertEquals(
        steps.slice(closed).sort(),
        STORING_ORDER.slice(closed + 1).map((key) => `abort ${key}`),
      );
    });
  }
});

Deno.test("ConcatParts.apply: set of a stream opens empty parts, and writes nothing to them", async () => {
  const parts = new ConcatParts([
    { keySuffix: ".a", size: 0 },
    { keySuffix: "" },
    { keySuffix: ".b", size: 0 },
  ]);
  for (const length of [0, 3]) {
    await withStore("files", async (below) => {
      const steps: string[] = [];
      const composed = parts.apply(below.open((step, isDone) => {
        if (!isDone && /^(writer|write|close)/.test(step)) steps.push(step);
      }));
      const { stream } = observedStream(piecesOf(countingBytes(length), 9));
      await composed.set!(KEY, stream);
      assertEquals(steps, [
        `writer ${KEY}.a`,
        `writer ${KEY}`,
        ...length > 0 ? [`write ${KEY}`] : [],
        `writer ${KEY}.b`,
        `close ${KEY}`,
        `close ${KEY}.a`,
        `close ${KEY}.b`,
      ]);
      assertEquals(await composed.get(KEY), countingBytes(length));
    });
  }
});

Deno.test("ConcatParts.apply: set of a stream gives its signal to every step but restoring", async () => {
  const { signal } = new AbortController();
  const signals: unknown[] = [];
  const noted = (_: unknown, options?: { signal?: AbortSignal }) => {
    signals.push(options?.signal);
  };
  await withStore("files", async (below) => {
    const store = below.open();
    const composed = PARTS.apply({
      ...store,
      get(key, options) {
        noted(key, options);
        return store.get(key, options);
      },
      writer(key, options) {
        noted(key, options);
        return store.writer!(key, options);
      },
    });
    const { stream } = observedStream(piecesOf(countingBytes(9), 2));
    await composed.set!(KEY, stream, { signal });
  });
  assertEquals(signals.map((found) => found === signal), Array(6).fill(true));
});
