import { assertEquals } from "@std/assert";

const SRC = new URL("../../src/", import.meta.url);

/** A module of the graph that `deno info --json` prints. */
interface Module {
  specifier: string;
  dependencies?: {
    code?: { specifier?: string };
    isDynamic?: boolean;
  }[];
}

/** The modules of `src/` that modules load: at start, or also on first use. */
async function loadedBy(
  roots: readonly string[],
  onFirstUse: boolean,
): Promise<string[]> {
  const loaded = new Set(roots.map((root) => new URL(root, SRC).href));
  for (const root of roots) {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", "--no-remote", new URL(root, SRC).href],
      stderr: "null",
    }).output();
    const { modules }: { modules: Module[] } = JSON.parse(
      new TextDecoder().decode(stdout),
    );
    const graph = new Map(modules.map((each) => [each.specifier, each]));
    for (const specifier of loaded) {
      const { dependencies = [] } = graph.get(specifier) ?? {};
      for (const { code, isDynamic = false } of dependencies) {
        if (!code?.specifier?.startsWith(SRC.href)) continue;
        if (onFirstUse || !isDynamic) loaded.add(code.specifier);
      }
    }
  }
  return Array.from(loaded, (href) => href.slice(SRC.href.length)).sort();
}

const READERS = ["arrays/open_array_chunks.ts", "stores/http/http_store.ts"];

/** The modules for rare keys, for chunks in parts, changes of shards, new and missing arrays, and servers that lack HEAD or ranges. */
const ON_FIRST_USE = [
  "arrays/complete_metadata.ts",
  "arrays/complete_pipeline.ts",
  "arrays/create_array.ts",
  "arrays/index_part.ts",
  "arrays/missing_array.ts",
  "arrays/portable_keys.ts",
  "arrays/whole_shards.ts",
  "chunk_key_encoding/encodings_on_demand.ts",
  "chunk_key_encoding/fanout_chunk_key_encoding.ts",
  "chunk_key_encoding/template_chunk_key_encoding.ts",
  "chunk_key_encoding/v2_chunk_key_encoding.ts",
  "concat_parts/change_group.ts",
  "concat_parts/change_parts.ts",
  "concat_parts/chunk_writer.ts",
  "concat_parts/composed_group.ts",
  "concat_parts/composition.ts",
  "concat_parts/flat_parts.ts",
  "concat_parts/list_chunks.ts",
  "concat_parts/read_at_once.ts",
  "concat_parts/read_chunk.ts",
  "concat_parts/read_chunk_range.ts",
  "concat_parts/store_stream.ts",
  "concat_parts/stored_chunk.ts",
  "concat_parts/stream_chunk.ts",
  "concat_parts/stream_sink.ts",
  "concat_parts/write_chunk.ts",
  "metadata/complete_codecs.ts",
  "shards/first_bytes.ts",
  "shards/other_bytes.ts",
  "shards/other_bytes_error.ts",
  "shards/shard_changes.ts",
  "splitter/byte_sink.ts",
  "splitter/byte_source.ts",
  "splitter/joined_source.ts",
  "splitter/joined_stream.ts",
  "splitter/native_splitter.ts",
  "splitter/native_windows.ts",
  "splitter/part_sinks.ts",
  "splitter/split_source.ts",
  "stores/http/fallback.ts",
  "stores/http/group.ts",
  "stores/http/group_reading.ts",
  "stores/http/on_first_use.ts",
  "stores/http/size.ts",
  "stores/http/unexpected_range.ts",
  "stores/http/validators.ts",
  "stores/http/version.ts",
  "stores/range_stream.ts",
  "stores/unsized_store.ts",
  "stores/windows_key.ts",
  "stores/write_new.ts",
  "stores/snapshot.ts",
];

Deno.test("openArrayChunks and HttpStore load what few programs need on first use", async () => {
  const atStart = await loadedBy(READERS, false);
  const all = await loadedBy(READERS, true);
  assertEquals(ON_FIRST_USE.filter((module) => atStart.includes(module)), []);
  assertEquals(ON_FIRST_USE.filter((module) => !all.includes(module)), []);
  assertEquals(atStart.includes("concat_parts/composed_store.ts"), true);
});

Deno.test("openArrayChunks and HttpStore never load the Wasm engine", async () => {
  const all = await loadedBy(READERS, true);
  assertEquals(
    all.filter((module) => module.startsWith("splitter/wasm_")),
    [],
  );
});
