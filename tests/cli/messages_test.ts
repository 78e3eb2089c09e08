import { assertEquals } from "@std/assert";
import { withOptionNames } from "../../src/cli/messages.ts";

/** Messages of functions, and the same ones on the command line. */
const MESSAGES: [string, string][] = [
  [
    'expected the option "resume" or "overwrite"',
    "expected --resume or --overwrite",
  ],
  [
    'Expected one of the options "dryRun" and "finish", found both',
    "Expected one of --dry-run and --finish, found both",
  ],
  [
    'Options "plain" and "keyEncoding" both say how',
    "--plain and --encoding both say how",
  ],
  ["set link: true to give it", "give --link to give it"],
  ["again with overwrite: true", "again with --overwrite"],
  [
    "finish the write by recover(store)",
    "finish the write by zarr-parts repair",
  ],
  [
    "finish it first, by convertInPlace or zarr-parts convert --in-place",
    "finish it first, by zarr-parts convert --in-place",
  ],
  [
    'the array has no shards; leave out the option "parts", or give a shardShape (array "/")',
    'the array has no shards; leave out --parts (array "/")',
  ],
  ['at "/" in FileSystemStore(a b/c): none', "at a b/c: none"],
  [
    "HttpStore(https://a.b/c?d) to S3Store(s3://a/b)",
    "https://a.b/c?d to s3://a/b",
  ],
  [
    'No Zarr node at "/" in FileSystemStore(a): there is no "/zarr.json"; there are nodes at "/b", "/c/d" and elsewhere',
    'No Zarr node at a: there is no "/zarr.json"; there are nodes at "a/b", "a/c/d" and elsewhere',
  ],
  // The end of a path with brackets is not known.
  ["in FileSystemStore(a(1)b)", "in FileSystemStore(a(1)b)"],
  // Keys and values are not options.
  ['Key "/overwrite" and "resume"', 'Key "/overwrite" and "resume"'],
  ['the option "files"', 'the option "files"'],
  ["unresume: true", "unresume: true"],
];

Deno.test("withOptionNames puts names of the command line in place of those of functions", () => {
  for (const [message, expected] of MESSAGES) {
    assertEquals(withOptionNames(message), expected);
  }
});
