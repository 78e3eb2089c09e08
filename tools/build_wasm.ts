/**
 * Compiles the modules in `wasm/` and writes them as TypeScript, in which form
 * they load without a file, a network or a permission: `deno task build`
 */
import { Buffer } from "node:buffer";
import asc from "assemblyscript/asc";

const SOURCES = new URL("../wasm/", import.meta.url);

/** A module and the room that loads it. */
interface Target {
  /** The module's entry in `wasm/`, without its extension. */
  readonly entry: string;
  /** The room in `src/`. */
  readonly room: string;
  /** The memory that the module starts with, in pages of 64 KiB: `wasm/memory.ts`. */
  readonly pages: number;
}

const TARGETS: readonly Target[] = [
  { entry: "blocks", room: "codecs", pages: 1 },
  { entry: "checksum", room: "checksum", pages: 2 },
  { entry: "splitter", room: "splitter", pages: 8 },
];

/** Keep the modules small. */
const OPTIONS = [
  ...["--runtime", "stub"],
  ...["--enable", "simd"],
  "--noAssert",
  "-O3",
];

function urlOf({ entry, room }: Target): URL {
  return new URL(`../src/${room}/${entry}_wasm.ts`, import.meta.url);
}

/** The text of the TypeScript module that holds the binary, and the binary's size in bytes. */
async function compile(
  { entry, pages }: Target,
): Promise<{ text: string; size: number }> {
  let binary: Uint8Array | undefined;
  const { error, stderr } = await asc.main(
    [
      `${entry}.ts`,
      ...["--outFile", `${entry}.wasm`],
      ...["--initialMemory", String(pages)],
      // Nothing of the compiler's own lies where wasm/memory.ts places things.
      ...["--memoryBase", String(pages * 64 * 1024)],
      ...OPTIONS,
    ],
    {
      readFile: (name) =>
        Deno.readTextFile(new URL(name, SOURCES)).catch(() => null),
      writeFile: (_name, contents) => {
        binary = contents as Uint8Array;
      },
      listFiles: () => [],
    },
  );
  if (error !== null || binary === undefined || stderr.toString() !== "") {
    throw new Error(`wasm/${entry}.ts does not compile\n${stderr}`, {
      cause: error,
    });
  }
  return {
    size: binary.length,
    text:
      `/** The module \`wasm/${entry}.ts\`, compiled by \`deno task build\`, in base64. */
export const WASM_BINARY =
  "${Buffer.from(binary).toString("base64")}";
`,
  };
}

/** Whether the committed binaries are what the sources compile to. */
export async function isBuilt(): Promise<boolean> {
  for (const target of TARGETS) {
    const { text } = await compile(target);
    if (text !== await Deno.readTextFile(urlOf(target))) return false;
  }
  return true;
}

if (import.meta.main) {
  for (const target of TARGETS) {
    const { text, size } = await compile(target);
    await Deno.writeTextFile(urlOf(target), text);
    console.log(`Compiled wasm/${target.entry}.ts to ${size} bytes`);
  }
}
