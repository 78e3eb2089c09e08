import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { printedInDeno, testPrintsTheSame } from "./programs.ts";

const at = (path: string) => fileURLToPath(import.meta.resolve(path));

testPrintsTheSame("adapter", at("./portable_zarrita.ts"));
testPrintsTheSame("module of all exports", at("./all_exports.ts"));

Deno.test("shards of zstd are read, written and verified without a warning of the runtime", async () => {
  const printed = await printedInDeno(at("./sharded_zstd.ts"));
  assertEquals(JSON.parse(printed), { sound: [], damaged: 1, warnings: [] });
});
testPrintsTheSame("program of shards of zstd", at("./sharded_zstd.ts"));
