import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { engineOf } from "../../src/checksum/engine.ts";
import { WasmInstance } from "../../src/checksum/wasm_instance.ts";
import type { Windows } from "../../src/checksum/windows.ts";
import { CHECKSUM_WAYS, ENGINES } from "./checksum_ways.ts";
import { crc32cOfPeer } from "./crc32c_oracle.ts";
import { noise } from "./noise.ts";

const MIB = 1024 * 1024;
const SIZES = [MIB, MIB, MIB, MIB];
/** How many windows the module has at most, and how much memory all its instances take. */
const MOST = 8;
const MOST_MEMORY = 33 * MIB;

/** Windows for which memory is reserved. */
function takeWindows(): Windows {
  const windows = engineOf("wasm").windows();
  assertEquals(windows.buffers.map(({ length }) => length), SIZES);
  return windows;
}

/** Runs with so many windows in use at once, and gives them back. */
function withWindows(count: number, run: (windows: Windows[]) => void): void {
  const windows = Array.from({ length: count }, takeWindows);
  try {
    run(windows);
  } finally {
    for (const each of windows) each.release();
  }
}

function isOfModule({ buffers }: Windows): boolean {
  return WasmInstance.ofMemory(buffers[0]!) !== undefined;
}

/** The memories of the module that windows are in. */
function memoriesOf(windows: readonly Windows[]): Set<ArrayBufferLike> {
  return new Set(
    windows.filter(isOfModule).map(({ buffers }) => buffers[0]!.buffer),
  );
}

/** Asserts that no byte is in two of the buffers. */
function assertDisjoint(buffers: readonly Uint8Array[]): void {
  for (const [i, a] of buffers.entries()) {
    for (const b of buffers.slice(i + 1)) {
      const isApart = a.buffer !== b.buffer ||
        a.byteOffset + a.length <= b.byteOffset ||
        b.byteOffset + b.length <= a.byteOffset;
      assert(isApart, "two windows share memory");
    }
  }
}

Deno.test("Windows.buffers are four pieces of 1 MiB, the same each time, of any engine", () => {
  for (const name of ENGINES) {
    const windows = engineOf(name).windows();
    assertEquals(windows.buffers.map(({ length }) => length), SIZES);
    assertStrictEquals(windows.buffers, windows.buffers);
    assertDisjoint(windows.buffers);
    windows.release();
  }
});

Deno.test("Windows.buffers are in the module's memory for eight at once, and plain for more", () => {
  withWindows(20, (windows) => {
    assertEquals(windows.map(isOfModule), windows.map((_, i) => i < MOST));
    const memories = memoriesOf(windows);
    assertStrictEquals(memories.size, MOST);
    const sum = Array.from(memories, (memory) => memory.byteLength)
      .reduce((a, b) => a + b);
    assertStrictEquals(sum, MOST_MEMORY);
  });
});

Deno.test("Windows.buffers take memory when they are asked for, not before", () => {
  const idle = Array.from({ length: 20 }, engineOf("wasm").windows);
  withWindows(MOST, (windows) => {
    assert(windows.every(isOfModule));
    assert(!isOfModule(idle[0]!));
  });
  assert(isOfModule(idle[1]!));
  for (const each of idle) each.release();
  withWindows(MOST, (windows) => assert(windows.every(isOfModule)));
});

Deno.test("Engine.windows of wasm and auto count together", () => {
  withWindows(MOST - 1, () => {
    const both = [engineOf("auto").windows(), engineOf("auto").windows()];
    assertEquals(both.map(isOfModule), [true, false]);
    for (const each of both) each.release();
  });
});

Deno.test("Windows.buffers in use at once share no memory, and each has its own checksum", () => {
  withWindows(MOST + 2, (windows) => {
    const buffers = windows.flatMap(({ buffers }) => buffers);
    assertDisjoint(buffers);
    for (const [i, buffer] of buffers.entries()) {
      buffer.set(noise(30_000, i + 1), 13 * i);
    }
    for (const [i, buffer] of buffers.entries()) {
      const bytes = buffer.subarray(13 * i, 13 * i + 30_000);
      const expected = crc32cOfPeer(noise(30_000, i + 1));
      for (const [way, checksum] of CHECKSUM_WAYS) {
        assertStrictEquals(checksum(bytes, 0), expected, `${way} window ${i}`);
      }
    }
  });
});

Deno.test("Windows.release gives the memory to who asks next", () => {
  withWindows(MOST, (windows) => {
    const memories = memoriesOf(windows);
    for (const released of [0, 5, 7]) {
      const { buffer } = windows[released]!.buffers[0]!;
      windows[released]!.release();
      windows[released] = takeWindows();
      assertStrictEquals(windows[released].buffers[0]!.buffer, buffer);
      assert(!isOfModule(takeWindows()));
    }
    assertStrictEquals(memoriesOf(windows).size, MOST);
    assert(memoriesOf(windows).isSubsetOf(memories));
  });
});

Deno.test("Windows.release twice gives the memory back once", () => {
  withWindows(MOST, (windows) => {
    const [first] = windows;
    first!.release();
    first!.release();
    const next = takeWindows();
    assert(isOfModule(next));
    assert(!isOfModule(takeWindows()));
    // It is another's by now.
    first!.release();
    assert(!isOfModule(takeWindows()));
    windows[0] = next;
    assertDisjoint(windows.flatMap(({ buffers }) => buffers));
  });
});

Deno.test("Windows.release of plain windows gives the module none", () => {
  withWindows(MOST, () => {
    const plain = takeWindows();
    plain.release();
    plain.release();
    assert(!isOfModule(takeWindows()));
  });
});

Deno.test("Engine.windows come and go without end in the same memory", () => {
  const seen = new Set<ArrayBufferLike>();
  for (let i = 0; i < 1000; i++) {
    withWindows(1 + i % 3, (windows) => {
      assert(windows.every(isOfModule));
      for (const memory of memoriesOf(windows)) seen.add(memory);
    });
  }
  assert(seen.size <= MOST, `${seen.size} memories`);
});
