import { assertEquals, assertRejects } from "@std/assert";
import {
  createArrayChunks,
  MemoryStore,
  MetadataError,
  openArrayChunks,
} from "../../mod.ts";
import { contentsOf } from "../support/bytes.ts";
import { encodeJson } from "../support/documents.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";

const suffix = (suffix: string, base_encoding: unknown = "default") => ({
  name: "suffix",
  configuration: { suffix, base_encoding },
});

/** Asserts that an array is not created, and that it is read and written where it stands. */
async function assertReadOnly(
  changes: Record<string, unknown>,
  path: string,
  message: string,
): Promise<void> {
  const metadata = arrayMetadata(changes);
  const store = new MemoryStore();
  const error = await assertRejects(
    () => createArrayChunks(store, "a", metadata),
    MetadataError,
    message,
  );
  assertEquals(error.path, path, error.message);
  assertEquals(await contentsOf(store), {});
  await store.set("/a/zarr.json", encodeJson(metadata));
  const chunks = await openArrayChunks(store, "a");
  await chunks.set([2, 1], new Uint8Array(9).fill(1));
  assertEquals(await chunks.get([2, 1]), new Uint8Array(9).fill(1));
}

Deno.test("createArrayChunks refuses suffixes of chunk keys that Windows cannot hold", async () => {
  const cases: [suffix: string, message: string][] = [
    [".", 'The chunk key "c/0/0." holds a name that ends in a dot'],
    [".tiff ", 'The chunk key "c/0/0.tiff " holds a name that ends in a space'],
    [":stream", 'holds ":", which names of files on Windows cannot hold'],
    [".a?b", 'holds "?"'],
    ["/aux.tiff", 'holds the name "aux", which is that of a device on Windows'],
    ["/NUL", '"NUL"'],
    ["/data. /x", "ends in a space"],
    ["/ZARR.JSON", "is that of a metadata document where case does not matter"],
  ];
  for (const [text, message] of cases) {
    for (
      const chunk_key_encoding of [
        suffix(text),
        suffix(text, "v2"),
        suffix(".x", suffix(text)),
        suffix("", suffix(text)),
      ]
    ) {
      const isInner = chunk_key_encoding.configuration.suffix === ".x";
      if (isInner && !/[:?]|data|aux/.test(text)) continue;
      await assertReadOnly(
        { chunk_key_encoding },
        "/chunk_key_encoding",
        chunk_key_encoding.configuration.base_encoding === "v2"
          ? message.replace("c/0/0", "0.0")
          : message,
      );
    }
  }
  for (
    const text of ["", ".tiff", "/data.tiff", ".Tiff", " x", ".con", "aux"]
  ) {
    const metadata = arrayMetadata({ chunk_key_encoding: suffix(text) });
    await createArrayChunks(new MemoryStore(), "", metadata);
  }
});

Deno.test("createArrayChunks refuses part keys that Windows cannot hold, or that differ only by case", async () => {
  const part = (key_suffix: string, size?: number) =>
    size === undefined ? { key_suffix } : { key_suffix, size };
  const parts = "/configuration/parts/1/key_suffix";
  const cases: [Record<string, unknown>, path: string, message: string][] = [
    [
      { storage_transformers: [concatParts(part(".a"), part(".A", 1))] },
      `/storage_transformers/0${parts}`,
      'Two parts could be stored under the key "c/0/0.A" where case does not matter, as on Windows and macOS, with the suffixes ".a" and ".A"',
    ],
    [
      { storage_transformers: [concatParts(part(".É"), part(".é", 1))] },
      `/storage_transformers/0${parts}`,
      "where case does not matter",
    ],
    [
      { storage_transformers: [concatParts(part("/X"), part("0/x", 1))] },
      `/storage_transformers/0${parts}`,
      'under the key "c/1/10/x" where case does not matter',
    ],
    [
      { storage_transformers: [concatParts(part(""), part(".b.", 1))] },
      `/storage_transformers/0${parts}`,
      'The part key "c/0/0.b." holds a name that ends in a dot',
    ],
    [
      { storage_transformers: [concatParts(part(""), part("/con", 1))] },
      `/storage_transformers/0${parts}`,
      'The part key "c/0/0/con" holds the name "con"',
    ],
    [
      {
        storage_transformers: [
          { name: "skipped", must_understand: false },
          concatParts(part(""), part("*", 1)),
        ],
      },
      `/storage_transformers/1${parts}`,
      'The part key "c/0/0*" holds "*"',
    ],
    [
      {
        storage_transformers: [
          concatParts(part(".x"), part(".y", 2)),
          concatParts(part(""), part(".", 1)),
        ],
      },
      `/storage_transformers/1${parts}`,
      'The part key "c/0/0.x." holds',
    ],
  ];
  for (const [changes, path, message] of cases) {
    await assertReadOnly(changes, path, message);
  }
  for (
    const right of [
      [part(".a"), part(".b", 1)],
      [part(".A"), part(".b", 1)],
      [part("a"), part("Aa", 1)],
      [part(""), part(".X", 1), part(".x.X", 1)],
    ]
  ) {
    const storage_transformers = [concatParts(...right)];
    const metadata = arrayMetadata({ storage_transformers });
    await createArrayChunks(new MemoryStore(), "", metadata);
  }
});

Deno.test("createArrayChunks finds names that Windows refuses or changes, in any segment", async () => {
  const cases: [name: string, problem: string | undefined][] = [
    ...[
      ...["0", "c", "0.tiff", "a b", " a", ".a", "a..b", "ü", "a'b", "a,b"],
      ...["con1", "acon", "con_", "com", "com10", "lpt", "xnul", "nulx"],
      ...["console.txt", "a.con", "auxiliary", "conin", "com4x.y", "[a]{b}"],
    ].map((name): [string, undefined] => [name, undefined]),
    ...["con", "CON", "Con.txt", "con.a.b", "nul", "NUL .txt", "prn", "aux"]
      .map((name): [string, string] => [name, "device"]),
    ...["com0", "com9.tiff", "COM1", "lpt1", "lpt²", "COM³.x", "conin$"]
      .map((name): [string, string] => [name, "device"]),
    ...["a.", "a ", "a. ", "a .", "...a."]
      .map((name): [string, string] => [name, "which Windows removes"]),
    ...Array.from('<>:"|?*', (c): [string, string] => [`a${c}b`, "hold"]),
  ];
  for (const [name, problem] of cases) {
    for (const text of [`/${name}`, `/${name}/0`, `/${name}/0.x`]) {
      const metadata = arrayMetadata({ chunk_key_encoding: suffix(text) });
      const created = createArrayChunks(new MemoryStore(), "", metadata);
      if (problem === undefined) await created;
      else await assertRejects(() => created, MetadataError, problem);
    }
  }
});
