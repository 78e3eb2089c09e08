/**
 * Tests the functions of the standard library that this project uses. The tests
 * run with what `@std/…` resolves to: the library, or its stand-ins.
 */
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { copy } from "@std/fs/copy";
import { emptyDir } from "@std/fs/empty-dir";
import { ensureDir } from "@std/fs/ensure-dir";
import { exists } from "@std/fs/exists";
import { walk } from "@std/fs/walk";
import { toBytes } from "@std/streams/to-bytes";
import { FixedChunkStream } from "@std/streams/unstable-fixed-chunk-stream";
import { join } from "node:path";

class Reading {
  #value: number;
  constructor(value: number) {
    this.#value = value;
  }
  get value(): number {
    return this.#value;
  }
}
class Estimate extends Reading {}

/** Fails unless `check` fails as an assertion, with a message that includes `text`. */
function assertFails(check: () => void, text = ""): void {
  const error = caught(check);
  if (!(error instanceof Error) || error.name !== "AssertionError") {
    throw new Error("Expected an AssertionError", { cause: error });
  }
  if (!error.message.includes(text)) {
    throw new Error(`Expected ${JSON.stringify(text)}`, { cause: error });
  }
}

function caught(run: () => void): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
}

Deno.test("assert() fails on falsy values", () => {
  assert("0");
  for (const value of [0, "", null, undefined, NaN, false]) {
    assertFails(() => assert(value, "message"), "message");
  }
});

Deno.test("assertEquals() accepts equal structures", () => {
  const pairs: [unknown, unknown][] = [
    [0, -0],
    [NaN, NaN],
    [{ a: 1, b: [2] }, { b: [2], a: 1 }],
    [{ a: 1 }, Object.assign(Object.create(null), { a: 1 })],
    [new Uint8Array([1, 2]), new Uint8Array([0, 1, 2]).subarray(1)],
    [new Float64Array([NaN, 0]), new Float64Array([NaN, -0])],
    [new Uint8Array([1]).buffer, new Uint8Array([1]).buffer],
    [new Set([[1], [2]]), new Set([[2], [1]])],
    [new Map([[[1], { a: 1 }]]), new Map([[[1], { a: 1 }]])],
    [new Date(5), new Date(5)],
    [/a/g, /a/g],
    [new URL("file:///a"), new URL("file:///a")],
    [new Reading(1), new Reading(1)],
  ];
  for (const [actual, expected] of pairs) assertEquals(actual, expected);
});

Deno.test("assertEquals() fails if a value, a class or a property differs", () => {
  const pairs: [unknown, unknown][] = [
    [1, 1n],
    [1, "1"],
    [null, undefined],
    [{}, null],
    [{ a: undefined }, {}],
    [{ a: undefined }, { b: undefined }],
    [[undefined], [,]],
    [[1, 2], [1]],
    [{ [Symbol.iterator]: 1 }, {}],
    [{ 0: 1 }, [1]],
    [new Uint8Array([1, 2]), new Uint8Array([1, 3])],
    [new Uint8Array([1, 2]), new Uint8Array([1, 2, 0])],
    [new Uint8Array([1]), new Uint8ClampedArray([1])],
    [new Uint8Array([1]), [1]],
    [new Uint8Array([1]).buffer, new Uint8Array([2]).buffer],
    [new Set([1]), new Set([2])],
    [new Map([[1, 2]]), new Map([[1, 3]])],
    [new Date(5), new Date(6)],
    [/a/g, /a/i],
    [new URL("file:///a"), new URL("file:///b")],
    [new Reading(1), new Reading(2)],
    [new Reading(1), new Estimate(1)],
    [() => 1, () => 1],
  ];
  for (const [actual, expected] of pairs) {
    assertFails(() => assertEquals(actual, expected, "message"), "message");
    assertFails(() => assertEquals(expected, actual), "Values are not equal");
  }
});

Deno.test("assertEquals() compares cyclic structures", () => {
  const cycle = (last: number) => {
    const list: unknown[] = [];
    return Object.assign(list, [list, last]);
  };
  assertEquals(cycle(1), cycle(1));
  assertFails(() => assertEquals(cycle(1), cycle(2)));
});

Deno.test("assertStrictEquals() accepts the same value only", () => {
  assertStrictEquals(NaN, NaN);
  assertFails(() => assertStrictEquals(0, -0), "not strictly equal");
  assertFails(() => assertStrictEquals([1], [1]), "not reference-equal");
});

Deno.test("assertInstanceOf(), assertMatch() and assertStringIncludes() name both values when they fail", () => {
  assertInstanceOf(new Estimate(1), Reading);
  assertFails(() => assertInstanceOf(new Reading(1), Estimate), "Estimate");
  assertMatch("abc", /b/);
  assertFails(() => assertMatch("abc", /d/), '"abc" to match: "/d/"');
  assertStringIncludes("abc", "b");
  assertFails(() => assertStringIncludes("abc", "d"), '"abc" to contain: "d"');
});

Deno.test("assertThrows() returns the error of the class, with the text", () => {
  const error = new RangeError("Out of range");
  const run = () => {
    throw error;
  };
  assertStrictEquals(assertThrows(run), error);
  assertStrictEquals(assertThrows(run, RangeError, "Out of"), error);
  assertStrictEquals(assertThrows(run, Error), error);
  assertFails(() => assertThrows(run, TypeError), '"TypeError"');
  assertFails(() => assertThrows(run, RangeError, "inside"), '"inside"');
  assertFails(() => assertThrows(() => 1), "Expected function to throw");
  assertFails(
    () =>
      assertThrows(() => {
        throw "text";
      }, Error),
    "non-Error",
  );
});

Deno.test("assertRejects() returns the error of the class, with the text", async () => {
  const error = new RangeError("Out of range");
  const run = () => Promise.reject(error);
  assertStrictEquals(await assertRejects(run), error);
  assertStrictEquals(await assertRejects(run, RangeError, "Out of"), error);
  const failures: [() => Promise<unknown>, string][] = [
    [() => assertRejects(run, TypeError), '"TypeError"'],
    [() => assertRejects(run, RangeError, "inside"), '"inside"'],
    [() => assertRejects(() => Promise.resolve()), "to reject"],
    [() => assertRejects(() => Promise.reject("text"), Error), "non-Error"],
    [
      () =>
        assertRejects(() => {
          throw error;
        }),
      "Function throws when expected to reject",
    ],
  ];
  for (const [check, text] of failures) {
    const error = await check().catch((error) => error);
    assertFails(() => {
      throw error;
    }, text);
  }
});

/** Runs a test in a folder of its own, with the files `a/b.txt` and `a/c/d.bin` and the link `a/l` to `c`. */
async function inTree(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(join(folder, "a/c"), { recursive: true });
    await Deno.writeTextFile(join(folder, "a/b.txt"), "1");
    await Deno.writeTextFile(join(folder, "a/c/d.bin"), "2");
    await Deno.symlink("c", join(folder, "a/l"));
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const ALL = ["", "b.txt", "c", "c/d.bin", "l"];

/** The paths that walk() finds below a folder, sorted. */
async function walked(
  folder: string,
  options?: Parameters<typeof walk>[1],
): Promise<string[]> {
  const paths = await Array.fromAsync(walk(folder, options), ({ path }) => {
    assert(path.startsWith(folder));
    return path.slice(folder.length + 1).replaceAll("\\", "/");
  });
  return paths.sort();
}

Deno.test("walk() finds folders, files and links, and does not follow links", async () => {
  await inTree(async (folder) => {
    const root = join(folder, "a");
    assertEquals(await walked(root), ALL);
    assertEquals(await walked(root, { includeDirs: false }), [
      ...["b.txt", "c/d.bin", "l"],
    ]);
    assertEquals(await walked(root, { exts: [".bin", ".txt"] }), [
      ...["b.txt", "c/d.bin"],
    ]);
    const entries = await Array.fromAsync(walk(root));
    const kinds = entries.map(({ name, isFile, isDirectory, isSymlink }) =>
      [name, isFile, isDirectory, isSymlink].join()
    );
    assertEquals(kinds.sort(), [
      ...["a,false,true,false", "b.txt,true,false,false", "c,false,true,false"],
      ...["d.bin,true,false,false", "l,false,false,true"],
    ]);
    const missing = () => Array.fromAsync(walk(join(folder, "x")));
    await assertRejects(missing, Deno.errors.NotFound);
  });
});

Deno.test("copy() copies all of a folder, and nothing onto what exists", async () => {
  await inTree(async (folder) => {
    const [from, to] = [join(folder, "a"), join(folder, "b")];
    await copy(from, to);
    assertEquals(await walked(to), ALL);
    assertEquals(await Deno.readTextFile(join(to, "c/d.bin")), "2");
    await assertRejects(() => copy(from, to), Deno.errors.AlreadyExists);
    await copy(join(from, "b.txt"), join(folder, "e"));
    assertEquals(await Deno.readTextFile(join(folder, "e")), "1");
    const missing = () => copy(join(folder, "x"), join(folder, "y"));
    await assertRejects(missing, Deno.errors.NotFound);
  });
});

Deno.test("emptyDir() removes all that is in a folder, or creates it", async () => {
  await inTree(async (folder) => {
    for (const name of ["a", "new/one"]) {
      await emptyDir(join(folder, name));
      assertEquals(await walked(join(folder, name)), [""]);
    }
  });
});

Deno.test("ensureDir() creates missing folders and refuses a file, and exists() tells what is there", async () => {
  await inTree(async (folder) => {
    assertEquals(await exists(join(folder, "x")), false);
    for (const name of ["x/y", "x/y", "a"]) {
      await ensureDir(join(folder, name));
      assertEquals(await exists(join(folder, name)), true);
    }
    assertEquals(await exists(join(folder, "a/b.txt")), true);
    await assertRejects(
      () => ensureDir(join(folder, "a/b.txt")),
      Error,
      "expected 'dir', got 'file'",
    );
  });
});

Deno.test("toBytes() joins the pieces of a stream, or rejects with its error", async () => {
  const pieces = () => [new Uint8Array([1, 2]), new Uint8Array([3])];
  assertEquals(
    await toBytes(ReadableStream.from(pieces())),
    new Uint8Array([1, 2, 3]),
  );
  const failing = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.error(new RangeError("broken"));
    },
  });
  await assertRejects(() => toBytes(failing), RangeError, "broken");
});

Deno.test("FixedChunkStream passes pieces of one length on, and a shorter last one", async () => {
  const lengths = [0, 1, 5, 3, 0, 4];
  let next = 0;
  const pieces = lengths.map((length) =>
    Uint8Array.from({ length }, () => next++)
  );
  const stream = ReadableStream.from(pieces);
  const fixed = await Array.fromAsync(
    stream.pipeThrough(new FixedChunkStream(4)),
  );
  assertEquals(fixed.map((piece) => Array.from(piece)), [
    ...[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12]],
  ]);
});
