/** What commands print with `--json` is what their JSON Schemas say. */
import { assert, assertEquals } from "@std/assert";
import { Ajv } from "ajv";
import { inTempDir } from "../stores/temp_dir.ts";
import { runCli } from "./run_cli.ts";

const ARRAY = "tests/fixtures/dem.zarr";
const SCHEMAS = new URL("../../docs/schemas/", import.meta.url);

/** Returns the problems of a JSON value. */
async function problemsOf(command: string, output: unknown): Promise<string[]> {
  const schema = JSON.parse(
    await Deno.readTextFile(new URL(`${command}.schema.json`, SCHEMAS)),
  );
  const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
  const validate = ajv.compile(schema);
  validate(output);
  return (validate.errors ?? []).map(({ instancePath, message }) =>
    `${instancePath} ${message}`
  );
}

/** Members without which no output is valid, by command. */
const NEEDED: Readonly<Record<string, string>> = {
  inspect: "nodes",
  convert: "copied",
  adopt: "files",
  verify: "findings",
  migrate: "written",
  repair: "recovery",
  split: "parts",
  join: "size",
  error: "status",
};

Deno.test("the output of each command with --json is that of its schema", () =>
  inTempDir(async (folder) => {
    const parts = `${folder}/parts.zarr`;
    await Deno.copyFile("tests/fixtures/tiffs/scene.tif", `${folder}/a.tif`);
    await Deno.writeFile(`${folder}/file`, new Uint8Array(1000));
    await Deno.mkdir(`${folder}/v2`);
    await Deno.writeTextFile(`${folder}/v2/.zgroup`, '{"zarr_format":2}');
    const runs: [command: string, ...args: string[]][] = [
      ["inspect", ARRAY],
      ["inspect", ARRAY, "--sizes", "--chunk=0,0"],
      // deno-fmt-ignore
      ["convert", ARRAY, parts, "--suffix=.shard", "--parts=,.index"],
      ["convert", "--in-place", parts, "--plain", "--dry-run"],
      ["verify", parts, "--deep"],
      ["repair", parts, "--dry-run"],
      ["migrate", `${folder}/v2`],
      ["adopt", `${folder}/a.tif`, "--into", `${folder}/a.zarr`, "--link"],
      ["split", `${folder}/file`, "--parts=.a,.tail:9"],
      ["join", `${folder}/file`, `--to=${folder}/joined`, "--parts=.a,.tail:9"],
    ];
    for (const [command, ...args] of runs) {
      const { code, out, err } = await runCli(command, ...args, "--json");
      assertEquals([code, err], [0, ""], `${command} ${args}`);
      const output = JSON.parse(out);
      assertEquals(await problemsOf(command, output), [], out);
      delete output[NEEDED[command]!];
      assert((await problemsOf(command, output)).length > 0, command);
    }
    await Deno.truncate(`${parts}/c/0/0.shard`, 5);
    const { code, out } = await runCli("verify", parts, "--json");
    assertEquals(code, 1);
    const output = JSON.parse(out);
    assert(output.findings.length > 0);
    assertEquals(await problemsOf("verify", output), []);
    output.findings[0].severity = "bad";
    assert((await problemsOf("verify", output)).length > 0);
    const failed = await runCli("verify", `${folder}/missing`, "--json");
    assertEquals(await problemsOf("error", JSON.parse(failed.err)), []);
  }));
