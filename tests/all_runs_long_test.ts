/** Tests whose short runs take some of their cases, with all of them. */
import { takeAll } from "./support/runs.ts";

takeAll();

await import("./chunk_key_encoding/template_properties_test.ts");
await import("./cli/index_pages_test.ts");
await import("./cli/read_places_test.ts");
await import("./codecs/decode_jpeg_test.ts");
await import("./codecs/imagecodecs_test.ts");
await import("./codecs/lerc_codec_test.ts");
await import("./codecs/packbits_property_test.ts");
await import("./codecs/zstd_reused_memory_test.ts");
await import("./concat_parts/part_keys_test.ts");
await import("./concat_parts/properties_test.ts");
await import("./errors/damaged_chunks_test.ts");
await import("./jobs/in_place_test.ts");
await import("./jobs/recode_property_test.ts");
await import("./metadata/v2_nodes_test.ts");
await import("./runtimes/bundles_test.ts");
await import("./serve/oracle_test.ts");
await import("./shards/encode_shard_test.ts");
await import("./splitter/engines_test.ts");
await import("./splitter/properties_test.ts");
await import("./threads/chunk_jobs_test.ts");
await import("./threads/copy_elements_test.ts");
await import("./tiff/damaged_tiffs_test.ts");
await import("./tiff/describe_tiff_test.ts");
await import("./tiff/fit_tiff_test.ts");
await import("./tiff/strips_test.ts");
await import("./views/plain_view_test.ts");
await import("./views/plain_view_writing_test.ts");
await import("./zarrita/get_sharded_property_test.ts");
await import("./zarrita/operations_property_test.ts");
await import("./zip/fit_zip_test.ts");
await import("./zip/zip_container_test.ts");
await import("./zip/zip_store_changes_test.ts");
await import("./zip/zip_store_damage_test.ts");
