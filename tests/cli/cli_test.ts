import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { fileURLToPath } from "node:url";
import { convert } from "../../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  openArrayChunks,
} from "../../mod.ts";
import { parseCommand } from "../../src/cli/command.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { checksummed } from "../jobs/checksummed.ts";
import { digestsOf } from "../jobs/digests.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { inTempDir, present } from "../stores/temp_dir.ts";
import { encodeJson, groupMetadata, readJson } from "../support/documents.ts";
import { cliCommand, runCli, runCliIn } from "./run_cli.ts";

const DEM = "tests/fixtures/dem.zarr";

/** Wrong usage, and what the message says. */
const MISTAKES: [string[], string][] = [
  [["convrt"], "did you mean convert?"],
  [["xyzzy"], "known are inspect, convert"],
  [["convert", "a", "b", "--sufix", ".x"], "did you mean --suffix?"],
  [["convert", "a", "b", "--zzzzzzzz"], "Unknown option --zzzzzzzz\n"],
  [["convert", "a"], 'Expected SOURCE and TARGET, found "a"'],
  [["convert", "--in-place"], "Expected PATH, found nothing"],
  [["convert", "--in-place", "a", "b"], 'Expected PATH, found "a" "b"'],
  [
    ["convert", "--in-place", DEM, "--overwrite"],
    "--in-place or --overwrite, found both",
  ],
  [["convert", "--in-place", "http://a.b/"], "a path, found a URL"],
  [["convert", "--in-place", "s3://bucket/a"], "a path, found a URL"],
  [
    ["convert", "--in-place", DEM, "--parts", ".x:1,,.index"],
    "or a conversion to another place",
  ],
  [["--quiet", "inspect", DEM], "such as zarr-parts inspect --quiet"],
  [["inspect", DEM, "-Q"], "Unknown option -Q\n"],
  [["inspect", DEM, "--quiet=1"], "Expected --quiet without a value"],
  [["inspect", "--chunk", DEM], `"${DEM}" is the value of --chunk\n`],
  [
    ["convert", DEM, "--suffix=x"],
    `Expected SOURCE and TARGET, found "${DEM}"\n`,
  ],
  [["inspect", `${DEM}/zarr.json`], `did you mean ${DEM}?\n`],
  [["verify", "http://a.b/c/zarr.json?d"], "did you mean http://a.b/c?\n"],
  [["convert", DEM, "s3://a/zarr.json"], "did you mean s3://a?\n"],
  [["repair", "README.md"], 'a folder, found a file: "README.md"\n'],
  [["convert", "README.md", "b"], 'a folder, found a file: "README.md"\n'],
  [["convert", DEM, "README.md"], 'a folder, found a file: "README.md"\n'],
  [["convert", DEM, "README.md/b"], 'folder "README.md/b", since "/'],
  [["convert", "--in-place", "README.md"], "a folder, found a file"],
  [["inspect", "file:b"], "a URL that starts with file:///, found"],
  [["inspect"], "Expected PATH|URL, found nothing"],
  [["convert", "a", "b", "--suffix"], "such as --suffix=TEXT"],
  [["convert", "a", "b", "--plain=yes"], "Expected --plain without a value"],
  [
    ["convert", DEM, "b", "--plain", "--suffix", ".x"],
    "--plain and --suffix both",
  ],
  [
    ["convert", DEM, "b", "--template", "{0}", "--encoding", "v2"],
    "found both",
  ],
  [["convert", DEM, "b", "--resume", "--overwrite"], "--resume or --overwrite"],
  [
    ["convert", DEM, DEM],
    "onto itself; expected another target, or a conversion in place (convertInPlace, --in-place)",
  ],
  [["convert", DEM, "b", "--parts", ".index"], 'such as ",.index"'],
  [["convert", DEM, "b", "--parts", ",.indx"], 'mean ",.index"?'],
  [["convert", DEM, "b", "--parts", ",index"], 'mean ",.index"?'],
  [["convert", DEM, "b", "--parts", ",.crc32"], 'mean ",.crc32c"?'],
  [["convert", DEM, "b", "--parts", ",.data"], 'such as ".data:64"'],
  [["convert", DEM, "b", "--chunks", "0,1"], "Expected --chunks to be a list"],
  [
    ["convert", DEM, "b", "--parts", ",,.index"],
    'Two parts have the keySuffix ""',
  ],
  [["convert", DEM, "b", "--parts", ",.index:9"], 'array "/" this layout: '],
  [["convert", DEM, "b", "--template", "{0}"], 'such as "{1}"\n'],
  [["convert", DEM, "b", "--template", "{0}_{1"], 'use --template: Format "'],
  [["convert", DEM, "b", "--suffix", "tif"], 'as --suffix .tif, found "tif"'],
  [["convert", DEM, "b", "--suffix", ":"], 'array "/" this layout: '],
  [
    ["convert", DEM, "b", "--suffix", ".a", "--suffix", ".b"],
    'Expected --suffix once, found it with ".a" and ".b"',
  ],
  [["convert", DEM, "b", "--mem", "1GB"], "did you mean --memory?"],
  [
    ["convert", DEM, "b", "--memory", "1KiB"],
    'from 1MiB, such as --memory=512MiB, found "1KiB"',
  ],
  [
    ["inspect", DEM, "--timeout", "0"],
    'above 0, such as --timeout=60, found "0"',
  ],
  [["convert", DEM, `./${DEM}/`, "--overwrite"], "onto itself"],
  [["convert", DEM, `${DEM}/c/0`, "--overwrite"], "lie in one another"],
  [["convert", DEM, `${DEM}/new`], "lie in one another"],
  [["convert", DEM, ".", "--overwrite"], "lie in one another"],
  [["convert", DEM, "http://example.com/"], "a web server"],
  [["convert", DEM, "b", "--share", "0/3"], 'such as 3/16, found "0/3"'],
  [["convert", DEM, "b", "--share", "4/3"], 'found "4/3"'],
  [["convert", DEM, "b", "--parts", ".index,"], "expected it as the last part"],
  [["convert", DEM, "b", "--container", "png"], "tiff or zip"],
  [["verify", DEM, "--fail-on", "x"], "error, warning or note"],
  [["verify", DEM, "--threads", "-1"], 'a whole number, found "-1"'],
  [["verify", DEM, "--threads", "1025"], 'up to 1024, found "1025"'],
  [["repair", "b", "--threads", "two"], 'a whole number, found "two"'],
  [["repair", DEM, "--fail-on", "x"], "error, warning or note"],
  [["repair", "https://example.com/"], "a web server"],
  [["inspect", DEM, "--chunk", "a"], 'such as 0,1, found "a"'],
  [["inspect", DEM, "--chunk", "9,9"], "whose shape is [3, 4]"],
  [["inspect", "gs://bucket/x"], "with http:, https:, s3: or file:"],
  [["inspect", "s3://"], 'such as "s3://bucket/prefix"'],
  [["inspect", "http://"], "URL with a host"],
  [["help", "inspekt"], "did you mean inspect?"],
  [
    ["convert", DEM, "b", "--encoding", "x"],
    'default, v2 or fanout, found "x"',
  ],
  [["convert", DEM, "b", "--encoding", "v2:x"], "Cannot use --encoding: "],
];

Deno.test("the command line answers wrong usage with status 2, and says what would be right", async () => {
  for (const [args, message] of MISTAKES) {
    const { code, out, err } = await runCli(...args);
    assertEquals([code, out], [2, ""], args.join(" "));
    assert(err.startsWith("zarr-parts: "), err);
    assertStringIncludes(err, message);
  }
  assertEquals(await present("b"), false);
});

Deno.test("the command line answers failed work with status 1, and names the place", async () => {
  await inTempDir(async (folder) => {
    const { code, out, err } = await runCli("inspect", `${folder}/nothing`);
    assertEquals([code, out], [1, ""]);
    assertStringIncludes(err, `There is no folder "${folder}/nothing"\n`);
    await Deno.mkdir(`${folder}/empty`);
    const empty = await runCli("verify", `${folder}/empty`);
    assertEquals(empty.code, 1);
    assertStringIncludes(empty.err, `at ${folder}/empty: there is no `);
    const target = `${folder}/target`;
    assertEquals((await runCli("convert", DEM, target)).code, 0);
    const refused = await runCli("convert", DEM, target);
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.err, "a node is there already");
    assertStringIncludes(
      refused.err,
      "or --overwrite, which replaces that node\n",
    );
  });
});

Deno.test("the command line says how to reach a bucket that refuses it", async () => {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response("secret", { status: 403 }),
  );
  const endpoint = `http://127.0.0.1:${server.addr.port}`;
  const keys = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };
  const none = { AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "" };
  const cases: [Record<string, string>, number, string][] = [
    [none, 1, "not signed without AWS_ACCESS_KEY_ID"],
    [keys, 1, "found 403 Forbidden\n"],
    [{ ...none, AWS_ACCESS_KEY_ID: "a" }, 2, "Expected both"],
    [{ ...keys, AWS_ENDPOINT_URL: "host:80" }, 2, 'found "host:80"'],
  ];
  for (const [env, status, message] of cases) {
    const { code, err } = await runCliIn(
      { AWS_ENDPOINT_URL: endpoint, ...env },
      ...["inspect", "s3://bucket/a"],
    );
    assertEquals(code, status, err);
    assertStringIncludes(err, message);
  }
  await server.shutdown();
});

Deno.test("the help of each command has examples and fits in 80 columns", async () => {
  const none = await runCli();
  const overview = await runCli("--help");
  assertEquals([none.code, overview.code], [2, 0]);
  assertEquals(none.out, overview.out);
  for (const command of Object.keys(COMMANDS)) {
    assertStringIncludes(overview.out, command);
    const { code, out, err } = await runCli(command, "--help");
    assertEquals([code, err], [0, ""]);
    assertStringIncludes(out, `  zarr-parts ${command} `);
    assertEquals((await runCli("help", command)).out, out);
    const long = out.split("\n").filter((line) => line.length > 80);
    assertEquals(long, []);
  }
});

Deno.test("the command line prints its version, and options have letters", async () => {
  const { default: { version } } = await import("../../deno.json", {
    with: { type: "json" },
  });
  for (const args of [["-V"], ["--version"], ["verify", "-V"]]) {
    const { code, out, err } = await runCli(...args);
    assertEquals([code, out, err], [0, `zarr-parts ${version}\n`, ""]);
  }
  const quiet = await runCli("inspect", "-q", DEM);
  assertEquals(quiet, { code: 0, out: "", err: "" });
});

Deno.test("--follow-links reads what links out of the folder lead to", async () => {
  await inTempDir(async (folder) => {
    await Deno.copyFile(`${DEM}/zarr.json`, `${folder}/zarr.json`);
    await Deno.symlink(await Deno.realPath(`${DEM}/c`), `${folder}/c`);
    const counts: number[] = [];
    for (const options of [[], ["--follow-links"]]) {
      const { out } = await runCli("verify", folder, "--json", ...options);
      counts.push(JSON.parse(out).chunks);
    }
    assertEquals(counts, [0, 12]);
  });
});

Deno.test("the task of a clone resolves paths in the folder of its caller", async () => {
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const { INIT_CWD: _, ...env } = Deno.env.toObject();
  await inTempDir(async (folder) => {
    await convert(
      new FileSystemStore(DEM),
      new FileSystemStore(`${folder}/a/b.zarr`),
    );
    for (
      const [cwd, place, ...args] of [
        [folder, "a/b.zarr", "--config", `${root}deno.json`],
        [`${folder}/a`, "./b.zarr", "--cwd", root],
        [`${root}tests/fixtures`, "dem.zarr"],
      ] as const
    ) {
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["task", "-q", ...args, "cli", "inspect", place],
        cwd,
        env,
        clearEnv: true,
      }).output();
      assertEquals(code, 0, new TextDecoder().decode(stderr));
      const out = new TextDecoder().decode(stdout);
      assert(out.startsWith(`${place}  array\n`), out);
    }
  });
});

Deno.test("the examples in the help of each command are commands", async () => {
  for (const [name, { load }] of Object.entries(COMMANDS)) {
    const command = await load();
    assertEquals(command.name, name);
    for (const example of command.examples) {
      const [program, given, ...args] = example.match(/'[^']*'|\S+/g)!
        .map((word) => word.replaceAll("'", ""));
      assertEquals([program, given], ["zarr-parts", name]);
      parseCommand(command, args, () => {}); // Throws if the arguments are wrong.
    }
    const short = await runCli(name, "-h");
    assertStringIncludes(short.out, `zarr-parts ${name} `);
  }
});

Deno.test("convert gives advice that the command line can follow where TIFF lacks a codec", async () => {
  await inTempDir(async (folder) => {
    for (
      const [name, advice] of [
        [
          "gzip",
          ': use "numcodecs.zlib", which compresses the same way; --recode encodes the array anew with codecs, chunks and shards that fit',
        ],
        [
          "crc32c",
          ": leave it out, or store the checksums elsewhere; --recode",
        ],
      ]
    ) {
      await createArrayChunks(
        new FileSystemStore(`${folder}/${name}`),
        "",
        arrayMetadata({
          shape: [16, 16],
          dataType: "uint8",
          shardShape: [16, 16],
          chunkShape: [16, 16],
          codecs: ["bytes", name!],
        }),
      );
      const { code, err } = await runCli(
        ...["convert", `${folder}/${name}`, `${folder}/b`],
        ...["--container", "tiff", "--parts", ",.index"],
      );
      assertEquals(code, 2);
      assertStringIncludes(err, advice!);
      for (const option of [["--recode"], ["--codecs", "zlib:5"]]) {
        const target = `${folder}/${name}${option[0]}`;
        const { code, err } = await runCli(
          ...["convert", `${folder}/${name}`, target, "--container", "tiff"],
          ...option,
        );
        assertEquals([code, err], [0, ""]);
      }
    }
  });
});

Deno.test({
  name: "the command line names the file and the space where a disk is full",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await inTempDir(async (folder) => {
      const options = ["-t", "tmpfs", "-o", "size=64k", "tmpfs"];
      const mounting = new Deno.Command("mount", {
        args: [...options, folder],
        stderr: "null",
      });
      if (!(await mounting.output()).success) return; // It takes privileges.
      try {
        const { code, err } = await runCli("convert", DEM, `${folder}/a`);
        assertEquals(code, 1);
        assertMatch(
          err,
          /No space left on device.*: write '.*\/a\/.*'/,
        );
      } finally {
        await new Deno.Command("umount", { args: [folder] }).output();
      }
    });
  },
});

Deno.test("inspect draws an array, and a map of inner chunks", async () => {
  const { code, out, err } = await runCli("inspect", DEM, "--chunk", "2,3");
  assertEquals([code, err], [0, ""]);
  assertEquals(
    out,
    `${DEM}  array
  shape         344 × 403 (latitude, longitude)
  data type     int16
  shards        128 × 120, a grid of 3 × 4
  inner chunks  32 × 40
  codecs        sharding_indexed [bytes, zstd]
  keys          default
  stored        12 of 12 shards
  shard 2, 3, 4,645 bytes
    ─ /c/2/3  4,645  data, index
    index of 196 bytes at 4,449; 6 of 6 inner chunks in the array, up to 1.50 kB
    █░
    █░
    ▓░
`,
  );
});

Deno.test("inspect shows the nodes of a group, the parts of a chunk, and JSON", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    await store.set("/zarr.json", encodeJson(groupMetadata()));
    await checksummed(store, 50, "plain");
    const parts = ".h:3,,.index,.crc32c";
    const converted = await runCli(
      ...["convert", `${folder}/plain`, `${folder}/parts`],
      ...["--parts", parts, "--suffix", ".s", "--quiet"],
    );
    assertEquals(converted, { code: 0, out: "", err: "" });
    const { out: tree } = await runCli("inspect", folder, "--sizes");
    assertEquals(tree.split("\n"), [
      `${folder}  group`,
      "├── parts  uint8  4 × 5  3 of 6 shards, 275 B  in 4 parts each",
      "└── plain  uint8  4 × 5  3 of 6 shards, 275 B",
      "",
    ]);
    const { out } = await runCli("inspect", `${folder}/parts`);
    const lines = out.split("\n");
    const drawing = lines.findIndex((line) => line.includes("┌"));
    assertEquals(lines.slice(drawing, drawing + 4), [
      "    ┌ /c/0/0.s.h        3  data",
      "    │ /c/0/0.s         48  data",
      "    │ /c/0/0.s.index   36  index",
      "    └ /c/0/0.s.crc32c   4  checksum",
    ]);
    const json = await runCli("inspect", folder, "--json");
    const { nodes } = JSON.parse(json.out);
    assertEquals(nodes.map(({ path }: { path: string }) => path), [
      "",
      "parts",
      "plain",
    ]);
  });
});

Deno.test("convert copies from files and over HTTP, and back to plain", async () => {
  await inTempDir(async (folder) => {
    const dem = new FileSystemStore(DEM);
    const { url, close } = serve(storeHandler(dem));
    try {
      const first = await runCli(
        ...["convert", url, `${folder}/a`, "--suffix", ".shard"],
        ...["--parts", ",.index"],
      );
      assertEquals(first.code, 0, first.err);
      assertStringIncludes(first.out, `12 chunks and files (182 kB) copied`);
    } finally {
      await close();
    }
    const chunks = await openArrayChunks(new FileSystemStore(`${folder}/a`));
    assertEquals(chunks.key([1, 1]), "/c/1/1.shard");
    for (
      const [name, args, key] of [
        ["plain", ["--plain"], "/c/1/1"],
        ["v2", ["--encoding", "v2", "--parts", "-"], "/1.1.".slice(0, 4)],
        [
          "dots",
          ["--encoding", "default:.", "--suffix", "", "--parts", "-"],
          "/c.1.1",
        ],
        ["template", ["--template", "t_{1:02}_{0:02}.bin"], "/t_01_01.bin"],
      ] as const
    ) {
      const target = `${folder}/${name}`;
      const { code, err } = await runCli(
        "convert",
        `${folder}/a`,
        target,
        ...args,
      );
      assertEquals([code, err], [0, ""], name);
      const copy = await openArrayChunks(new FileSystemStore(target));
      assertEquals(copy.key([1, 1]), key, name);
      assertEquals(await copy.get([1, 1]), await chunks.get([1, 1]), name);
    }
  });
});

Deno.test("convert warns of arrays in parts that zarr-python opens without an error", async () => {
  await inTempDir(async (folder) => {
    const args = ["convert", DEM, `${folder}/a`, "--parts", ",.index"];
    const { code, err } = await runCli(...args);
    assertEquals(code, 0);
    assertMatch(err, /^\/ is in parts and has no suffix: zarr-python .*\n$/);
    for (const more of [["--quiet"], ["--suffix", ".s"]]) {
      const run = await runCli(...args, "--overwrite", ...more);
      assertEquals([run.code, run.err], [0, ""]);
    }
  });
});

Deno.test("convert says what it would do, and works in shares", async () => {
  await inTempDir(async (folder) => {
    const target = `${folder}/a`;
    const args = ["convert", DEM, target, "--suffix", ".s"];
    const dry = await runCli(...args, "--dry-run");
    assertStringIncludes(dry.out, "/  12 chunks, such as\n    ─ c/0/0.s\n");
    assertStringIncludes(dry.out, "12 chunks and files would be copied");
    assertEquals(await present(target), false);
    for (const number of ["2", "1", "3"]) {
      const { code, out } = await runCli(...args, "--share", `${number}/3`);
      assertEquals(code, 0);
      assertStringIncludes(out, "run the command with --resume");
    }
    const last = await runCli(...args, "--resume", "--json");
    assertEquals(JSON.parse(last.out).skipped, 12);
    for (const [share, count] of [["2/2", 6], ["1/1", 12]] as const) {
      const { out } = await runCli("verify", target, "--share", share);
      assertStringIncludes(out, `${count} chunks verified, nothing found`);
    }
    await Deno.remove(`${target}/c/0/0.s`);
    const sparse = await runCli("convert", target, `${folder}/b`);
    assertMatch(sparse.out, /^11 chunks and files .*, 1 is absent\n$/);
  });
});

Deno.test("options before a command are answered with what is meant", async () => {
  const cases: Record<string, RegExp> = {
    "--verson":
      /^zarr-parts: Unknown option --verson; did you mean --version\?\n$/,
    "-v": /^zarr-parts: Unknown option -v; did you mean --version\?\n$/,
    "--deep": /^zarr-parts: Expected a command before --deep, such as /,
  };
  for (const [option, message] of Object.entries(cases)) {
    const { code, err } = await runCli(option);
    assertEquals(code, 2);
    assertMatch(err, message);
  }
});

Deno.test("convert stops at Ctrl-C, says how to go on, and goes on", async () => {
  await inTempDir(async (folder) => {
    const store = new MemoryStore();
    const metadata = arrayMetadata({
      shape: [40],
      dataType: "uint8",
      chunkShape: [1],
    });
    const chunks = await createArrayChunks(store, "", metadata);
    for (let i = 0; i < 40; i++) await chunks.set([i], Uint8Array.of(i));
    // The server holds back chunks until the program has been stopped.
    const held = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<void>();
    const answer = storeHandler(store);
    const { url, close } = serve(async (request) => {
      if (/\/c\/[23]\d$/.test(new URL(request.url).pathname)) {
        held.resolve();
        await stopped.promise;
      }
      return await answer(request);
    });
    try {
      const args = ["convert", url, `${folder}/b`];
      const [program, ...rest] = cliCommand(args);
      const child = new Deno.Command(program!, {
        args: rest,
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      await held.promise;
      child.kill("SIGINT");
      const { code, stderr } = await child.output();
      stopped.resolve();
      assertEquals(code, 130);
      const text = new TextDecoder().decode(stderr);
      assertStringIncludes(
        text,
        "run the same command with --resume to continue",
      );
      assertStringIncludes(text, "Stopped\n");
      const again = await runCli(...args, "--resume");
      assertEquals([again.code, again.err], [0, ""]);
      const copy = new FileSystemStore(`${folder}/b`);
      assertEquals(await digestsOf(copy), await digestsOf(store));
    } finally {
      stopped.resolve();
      await close();
    }
  });
});

Deno.test("convert --in-place converts an array of a group, with the metadata of the group", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    await checksummed(store, 40, "a");
    const node = await readJson(store, "/a/zarr.json");
    const group = encodeJson(groupMetadata({ a: node }));
    await store.set("/zarr.json", group);
    const before = await digestsOf(store);
    const place = `${folder}/a`;
    const inPlace = ["convert", "--in-place", place];
    const layout = ["--suffix", ".s", "--parts", ",.index,.crc32c"];

    const dry = await runCli(...inPlace, ...layout, "--dry-run");
    assertEquals([dry.code, dry.err], [0, ""]);
    assertStringIncludes(dry.out, "    │ c/0/0.s.index");
    assertStringIncludes(dry.out, "3 chunks would be converted in place");
    assertEquals(await digestsOf(store), before);

    const cut = await runCli(...inPlace, ...layout);
    assertEquals([cut.code, cut.err], [0, ""]);
    assertStringIncludes(cut.out, "3 chunks converted in place");
    assertEquals(await store.size("/a/c/0/0.s.crc32c"), 4);
    const { consolidated_metadata } = await readJson(store, "/zarr.json");
    assertEquals(
      consolidated_metadata.metadata.a,
      await readJson(store, "/a/zarr.json"),
    );
    const again = await runCli(...inPlace, ...layout);
    assertStringIncludes(again.out, "has this layout already");

    const json = await runCli(...inPlace, "--plain", "--json");
    assertEquals(JSON.parse(json.out).isFinished, true);
    const after = await digestsOf(store);
    assertEquals(Object.keys(after), Object.keys(before));
    assertEquals(after["/a/c/1/2"], before["/a/c/1/2"]);
    const quiet = await runCli(...inPlace, "--suffix", ".t", "--quiet");
    assertEquals(quiet, { code: 0, out: "", err: "" });
  });
});

Deno.test("verify prints a line for each finding, and fails on those that it is asked for", async () => {
  await inTempDir(async (folder) => {
    await checksummed(new FileSystemStore(folder), 50);
    const ABSENT =
      "3 of 6 shards exist, 3 are absent and read as the fill value\n";
    const sound = await runCli("verify", folder);
    assertEquals(sound, {
      code: 0,
      out: `${ABSENT}3 chunks verified, nothing found\n`,
      err: "",
    });
    const deep = await runCli("verify", folder, "--deep");
    assertEquals([deep.code, deep.err], [0, ""]);
    assertEquals(
      deep.out,
      `warning chunk-undecoded: 5 inner chunks were not decoded, since the codec "of another program" in "/zarr.json" is not known here: damage of them is not noticed\n${ABSENT}3 chunks verified, 1 found, 5 not decoded (unknown codec "of another program"): whether all chunks are sound is not known\n`,
    );
    for (const threads of ["0", "1", "2"]) {
      assertEquals(
        await runCli("verify", folder, "--deep", `--threads=${threads}`),
        deep,
      );
    }
    await Deno.writeTextFile(`${folder}/notes.txt`, "Notes");
    const [note, strict] = await Promise.all([
      runCli("verify", folder),
      runCli("verify", folder, "--fail-on", "note"),
    ]);
    assertEquals([note.code, strict.code], [0, 1]);
    assertEquals(
      note.out,
      `note unknown-file: "/notes.txt" belongs to no chunk\n${ABSENT}3 chunks verified, 1 other file not verified, 1 found\n`,
    );
    const file = `${folder}/c/0/0`;
    const bytes = await Deno.readFile(file);
    bytes[0]! ^= 1;
    await Deno.writeFile(file, bytes);
    const damaged = await runCli("verify", folder, "--json");
    assertEquals([damaged.code, damaged.err], [1, ""]);
    const { counts, isSound } = JSON.parse(damaged.out);
    assertEquals(counts, { "unknown-file": 1, "chunk-checksum": 1 });
    assertEquals(isSound, false);
  });
});

Deno.test("repair prints what it does, and fails on what it leaves", async () => {
  await inTempDir(async (folder) => {
    const plain = new MemoryStore();
    await checksummed(plain, 50);
    const store = new FileSystemStore(folder);
    await convert(plain, store, { parts: ["", ".tail:40"] });
    await Deno.writeFile(`${folder}/c/.zarr-parts-tmp-1`, new Uint8Array(1500));
    const dry = await runCli("repair", folder, "--dry-run");
    assertEquals(dry, {
      code: 0,
      out: "would remove 1 temporary file, 1.50 kB\n1 can be repaired\n",
      err: "",
    });
    const { code, out } = await runCli("repair", folder);
    assertEquals(
      [code, out],
      [0, "removed 1 temporary file, 1.50 kB\n1 repaired\n"],
    );
    assertEquals((await runCli("repair", folder)).out, "Nothing to repair\n");
    await store.delete("/c/0/0.tail");
    await store.set("/notes.txt", new Uint8Array(1));
    const [quiet, json] = await Promise.all([
      runCli("repair", folder, "--quiet"),
      runCli("repair", folder, "--json"),
    ]);
    assertEquals([quiet.code, json.code], [1, 1]);
    const lines = quiet.out.split("\n").sort();
    assertEquals(lines.length, 3);
    assertStringIncludes(lines[1]!, "error part-missing: ");
    assertStringIncludes(lines[1]!, "restore the chunk from a copy");
    assertStringIncludes(lines[2]!, 'note unknown-file: "/notes.txt"');
    assertEquals(JSON.parse(json.out).unrepaired.length, 2);
    await store.delete("/c/0/0");
    assertEquals((await runCli("repair", folder)).code, 0);
    const strict = await runCli("repair", folder, "--fail-on", "note");
    assertEquals(strict.code, 1);
  });
});

Deno.test("a closed pipe ends the command line quietly", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    const long = { ...groupMetadata(), attributes: { text: "x".repeat(1e6) } };
    await store.set("/zarr.json", encodeJson(long));
    const quoted = cliCommand(["inspect", folder, "--json"])
      .map((text) => `'${text}'`).join(" ");
    const { stdout, stderr } = await new Deno.Command("sh", {
      args: ["-c", `${quoted} | head -c 1`],
      stdout: "piped",
      stderr: "piped",
    }).output();
    assertEquals(new TextDecoder().decode(stdout), "{");
    assertEquals(new TextDecoder().decode(stderr), "");
  });
});

Deno.test("a command whose output nobody reads ends with status 141, and says nothing", async () => {
  const array = "tests/fixtures/dem.zarr";
  const cases = [
    ["--help"],
    ["inspect", array],
    ["inspect", array, "--json"],
    ["verify", array],
    ["repair", array, "--dry-run"],
  ];
  for (const args of cases) {
    // The reader leaves before the command has started.
    const script = '{ "$@"; echo $? >&2; } | :';
    const { stderr } = await new Deno.Command("sh", {
      args: ["-c", script, "sh", ...cliCommand(args)],
      stderr: "piped",
    }).output();
    assertEquals(new TextDecoder().decode(stderr), "141\n", args.join(" "));
  }
});

Deno.test("a command whose messages nobody reads ends with its own status", async () => {
  const script = '"$@" 2>&1 >/dev/null; echo $? >&3';
  const { stdout } = await new Deno.Command("sh", {
    args: [
      "-c",
      `{ { ${script}; } | :; } 3>&1`,
      "sh",
      ...cliCommand(["inspect", "tests/no-such-folder"]),
    ],
    stdout: "piped",
  }).output();
  assertEquals(new TextDecoder().decode(stdout), "1\n");
});
