import { assert, assertStrictEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import * as fc from "fast-check";
import { Crc32c, crc32c } from "../../src/checksum/crc32c.ts";
import { engineOf } from "../../src/checksum/engine.ts";
import { WasmInstance } from "../../src/checksum/wasm_instance.ts";
import type { Windows } from "../../src/checksum/windows.ts";
import { CHECKSUM_WAYS } from "./checksum_ways.ts";
import { crc32cOfPeer, prefixCrcs } from "./crc32c_oracle.ts";
import { noise } from "./noise.ts";

/** Runs with windows in the memory of the module, and gives them back. */
function withWindows(run: (windows: Windows) => void): void {
  const windows = engineOf("wasm").windows();
  try {
    run(windows);
  } finally {
    windows.release();
  }
}

Deno.test("Engine.crc32c of bytes in a window is that of a copy, for any slice of it", () => {
  withWindows(({ buffers }) => {
    const window = buffers[1]!;
    window.set(noise(window.length, 3));
    const copy = window.slice();
    const crcs = prefixCrcs(copy);
    const place = fc.oneof(fc.nat(40), fc.nat(2000), fc.nat(window.length));
    const property = fc.property(place, place, (a, b) => {
      const [start, end] = [Math.min(a, b), Math.max(a, b)];
      const [crc, expected] = [crcs[start]!, crcs[end]!];
      for (const [way, checksum] of CHECKSUM_WAYS) {
        const inPlace = checksum(window.subarray(start, end), crc);
        assertStrictEquals(inPlace, expected, way);
        const copied = checksum(copy.subarray(start, end), crc);
        assertStrictEquals(copied, expected, way);
      }
    });
    fc.assert(property, { numRuns: 300 });
  });
});

Deno.test("Engine.crc32c of bytes in a window is right for every length from 0 to 12,000", () => {
  withWindows(({ buffers }) => {
    const window = buffers[2]!;
    window.set(noise(12_000, 4));
    const crcs = prefixCrcs(window.subarray(0, 12_000));
    const wasm = engineOf("wasm");
    for (let length = 0; length <= 12_000; length++) {
      const actual = wasm.crc32c(window.subarray(0, length), 0);
      assertStrictEquals(actual, crcs[length]);
    }
  });
});

Deno.test("Engine.crc32c takes whole windows and more of one memory, to its very end", () => {
  withWindows(({ buffers }) => {
    const [first] = buffers;
    const last = buffers.at(-1);
    const { buffer, byteOffset } = first!;
    assertStrictEquals(last!.buffer, buffer);
    const all = new Uint8Array(buffer, byteOffset);
    assertStrictEquals(last!.byteOffset + last!.length, buffer.byteLength);
    all.set(noise(all.length, 5));
    for (const start of [0, 1, 17]) {
      const bytes = all.subarray(start);
      const expected = crc32cOfPeer(bytes.slice());
      for (const [way, checksum] of CHECKSUM_WAYS) {
        assertStrictEquals(checksum(bytes, 0), expected, way);
      }
    }
  });
});

Deno.test("Engine.crc32c changes no byte of any window, whether it is in it or copied in", () => {
  withWindows(({ buffers }) => {
    for (const [i, window] of buffers.entries()) {
      window.set(noise(window.length, 6 + i));
    }
    const before = buffers.map((window) => window.slice());
    const foreign = noise(500_000, 9);
    for (const length of [1, 300, 5000, 40_000, 300_000]) {
      for (const [, checksum] of CHECKSUM_WAYS) {
        for (const window of buffers) {
          checksum(window.subarray(0, length), 7);
          checksum(window.subarray(window.length - length), 7);
        }
        checksum(foreign.subarray(0, length), 7);
      }
    }
    for (const [i, window] of buffers.entries()) {
      assertStrictEquals(Buffer.compare(window, before[i]!), 0);
    }
  });
});

Deno.test("Crc32c takes bytes in windows and others by turns", () => {
  const bytes = noise(3_000_000, 10);
  const crcs = prefixCrcs(bytes);
  withWindows((windows) => {
    withWindows((others) => {
      const checksum = new Crc32c();
      let end = 0;
      for (let turn = 0; end < bytes.length; turn++) {
        const piece = bytes.subarray(
          end,
          end + [7, 900, 70_000, 301_001][turn % 4]!,
        );
        const { buffers } = turn % 2 ? windows : others;
        const window = buffers[turn % 3]!.subarray(turn);
        window.set(piece);
        end += piece.length;
        const isCopied = turn % 5 === 0;
        checksum.update(isCopied ? piece : window.subarray(0, piece.length));
        assertStrictEquals(checksum.digest(), crcs[end]);
      }
    });
  });
});

Deno.test("WasmInstance.ofMemory knows the memory of windows, and no other", () => {
  withWindows(({ buffers }) => {
    const [first] = buffers;
    const instance = WasmInstance.ofMemory(first!);
    assert(instance instanceof WasmInstance);
    assertStrictEquals(WasmInstance.ofMemory(buffers[2]!), instance);
    assertStrictEquals(WasmInstance.ofMemory(first!.slice()), undefined);
    assertStrictEquals(crc32c(first!.subarray(0, 0), 5), 5);
  });
});
