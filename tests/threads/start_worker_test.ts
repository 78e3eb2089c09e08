import { assert, assertEquals } from "@std/assert";
import config from "../../deno.json" with { type: "json" };
import {
  processorCount,
  zarritaModules,
} from "../../src/threads/start_worker.ts";

Deno.test("workers import the version of zarrita that this package is tested with", async () => {
  const found = zarritaModules().filter((name) => name.startsWith("npm:"));
  assert(found.length > 0);
  assertEquals(new Set(found), new Set([config.imports.zarrita]));
  const { registry } = await import(found.at(-1)!);
  assertEquals(typeof registry.get("blosc"), "function");
});

Deno.test("a pool has a thread for each processor by default", () => {
  assertEquals(processorCount(), navigator.hardwareConcurrency);
});
