import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { ALL_KINDS, type Kind, withStore } from "./stores_below.ts";
import {
  BEFORE,
  type Before,
  isSame,
  pointsOf,
  setStream,
  STORING_ORDER,
} from "./set_stream.ts";

/** The stores where a failed write leaves no empty folder. */
const REMOVES_FOLDERS: readonly Kind[] = [
  "memory",
  "bytes alone",
  "groups in memory",
];

for (const kind of ALL_KINDS) {
  for (const before of Object.keys(BEFORE) as Before[]) {
    if (before === "no folder" && !REMOVES_FOLDERS.includes(kind)) continue;
    Deno.test(`ConcatParts.apply: set of a stream that fails at any step leaves ${before}, over ${kind}`, async () => {
      for (const failing of await pointsOf(kind, before)) {
        await withStore(kind, async (below) => {
          const where = JSON.stringify(failing);
          const failure = new Error("Disk on fire");
          let hits = 0;
          const found = await setStream(below, before, (point) => {
            if (!isSame(point, failing)) return;
            hits++;
            throw failure;
          });
          assertEquals(hits, 1, where);
          assertStrictEquals(found.error, failure, where);
          assertEquals(await below.contents(), found.before, where);
          if ("ended" in found.fate) return;
          assertEquals(found.fate, { cancelled: failure }, where);
        });
      }
    });
  }

  Deno.test(`ConcatParts.apply: set of a stream that always fails at one step leaves the earlier chunk, over ${kind}`, async () => {
    const steps = (await pointsOf(kind, "the earlier chunk"))
      .filter(({ step, isDone }) => !isDone && !step.startsWith("get"))
      .map(({ step }) => step);
    for (const failing of new Set(steps)) {
      await withStore(kind, async (below) => {
        const failure = new Error("Disk on fire");
        const { error, before } = await setStream(
          below,
          "the earlier chunk",
          ({ step, isDone }) => {
            if (step === failing && !isDone) throw failure;
          },
        );
        assertStrictEquals(error, failure, failing);
        assertEquals(await below.contents(), before, failing);
      });
    }
  });
}

for (const kind of ["memory", "files"]) {
  Deno.test(`ConcatParts.apply: set of a stream that fails and cannot restore the chunk reports both errors, over ${kind}`, async () => {
    const verb = kind === "files" ? "close" : "set";
    for (const [last, failing] of STORING_ORDER.entries()) {
      for (const lost of STORING_ORDER.slice(0, last + 1)) {
        await withStore(kind, async (below) => {
          const failure = new Error("Disk on fire");
          const second = new Error("Still on fire");
          let isFailing = false;
          const { error, before } = await setStream(
            below,
            "the earlier chunk",
            ({ step, isDone }) => {
              if (isFailing && step === `set ${lost}`) throw second;
              if (step !== `${verb} ${failing}` || !isDone) return;
              isFailing = true;
              throw failure;
            },
          );
          assert(error instanceof AggregateError);
          assertStrictEquals(error.errors[0], failure);
          assertStrictEquals(error.errors[1], second);
          assertEquals(
            error.message,
            'Chunk "/c/0" could not be changed, and could not be restored either: its parts may belong to different writes',
          );
          // All other parts are unchanged, and nothing else is left.
          const after = await below.contents();
          assertEquals({ ...after, [lost]: before[lost] }, before);
          assert(String(after[lost]) !== String(before[lost]), lost);
        });
      }
    }
  });
}
