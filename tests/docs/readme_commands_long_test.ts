/** The README as a session of its reader: all commands in one shell, in the order of the page, in a fresh clone. */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { FileSystemStore } from "../../mod.ts";
import { PYTHON } from "../interop/python.ts";
import { pack, REGISTRY } from "../npm/installed.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { freePort } from "../support/ports.ts";
import { testWith } from "../support/tools.ts";
import { chooseStandardLibrary } from "../../tools/standard_library.ts";
import { codeBlocksOf, pathOf, readPages } from "./pages.ts";

/** Runs a server, and reads a document from it. */
const SERVED =
  `alias served="read_served " # The next word may be an alias, too.
read_served() {
  "$@" >served.log 2>&1 &
  for i in $(seq 300); do
    curl --silent --fail "http://127.0.0.1:$PORT/zarr.json" >/dev/null && break
    sleep 0.2
  done
  curl --silent --show-error --fail "http://127.0.0.1:$PORT/zarr.json" | grep -q shape || { cat served.log; exit 1; }
  kill -- -$!
  wait $! || true
}`;

/** What the session has in the place of a line, in the order in which lines are looked up. */
const REPLACEMENTS: readonly (readonly [
  line: RegExp,
  replacement: string | ((line: string) => string),
])[] = [
  // .ci/run runs the short tests by this very line.
  [/^npx -y deno@\S+ task test$/, ":"],
  // JSR has no version of the package yet; tools/ok.ts runs the dry run of its publication.
  [/^deno add jsr:@zarr-parts/, ":"],
  [
    /^npm install /,
    (line) =>
      `(cd "$PROJECT" && ${line.replace(/\bzarr-parts\b/, '"$TARBALL"')})`,
  ],
  [/^zarr-parts serve /, (line) => `served ${line} --port "$PORT"`],
  [
    / serve .* examples\//,
    (line) => {
      const command = line.replace(/^STORE_URL=\S+ /, "");
      const address = 'serve --host 127.0.0.1 --port "$PORT"';
      return `STORE_URL="$DATA" read_served ${
        command.replace("serve", address)
      }`;
    },
  ],
  [/^pip /, (line) => `venv/bin/${line}`],
];

/** The session: the blocks of the README, but those in TypeScript, which run with all examples of the documentation. */
async function readSession(): Promise<string> {
  const pages = await readPages();
  const readme = pages.find(({ path }) => path === "README.md")!;
  const lines = codeBlocksOf(readme).flatMap(({ language, code }) => {
    if (language === "python") {
      return "path" in PYTHON ? [`venv/bin/python - <<'END'\n${code}END`] : [];
    }
    if (language !== "sh") return [];
    return code.split("\n").filter(Boolean).map(sessionLine);
  });
  assert(lines.length > 15, `Found only ${lines.length} commands`);
  return lines.join("\n");
}

function sessionLine(line: string): string {
  const command = line.replace(/ +#.*/, "");
  if (command.startsWith("pip ") && "missing" in PYTHON) return ":";
  for (const [pattern, replacement] of REPLACEMENTS) {
    if (!pattern.test(command)) continue;
    return typeof replacement === "string" ? replacement : replacement(command);
  }
  return command;
}

/** Copies the files of the repository, also those that are not committed yet. */
async function makeClone(folder: string): Promise<void> {
  const list = "git ls-files -z --cached --others --exclude-standard";
  const { code, stderr } = await new Deno.Command("sh", {
    args: [
      "-c",
      `${list} | xargs -0 sh -c 'cp --parents -P "$@" "$0" 2>/dev/null' "${folder}"`,
    ],
    cwd: pathOf("."),
  }).output();
  assert(code === 0 || code === 123, new TextDecoder().decode(stderr));
}

/** Runs the session in a fresh clone. */
async function runSession(env: Record<string, string>): Promise<void> {
  await inTempDir(async (folder) => {
    const [clone, project] = [join(folder, "clone"), join(folder, "project")];
    await Deno.mkdir(clone);
    await Deno.mkdir(project);
    await Deno.writeTextFile(join(project, "package.json"), "{}");
    await makeClone(clone);
    const data = new FileSystemStore(join(clone, "tests/fixtures/dem.zarr"));
    const server = serve(storeHandler(data));
    const port = `${freePort()}`;
    try {
      const { code, stdout, stderr } = await new Deno.Command("bash", {
        args: ["-c", await script()],
        cwd: clone,
        env: {
          ...env,
          DATA: server.url,
          PORT: port,
          PROJECT: project,
          PYTHON: "path" in PYTHON ? PYTHON.path : "",
          TARBALL: await pack(folder),
          npm_config_prefix: join(folder, "global"),
        },
      }).output();
      const decoder = new TextDecoder();
      assertEquals(
        code,
        0,
        decoder.decode(stdout) + decoder.decode(stderr),
      );
    } finally {
      await server.close();
    }
    const [mod] = await Array.fromAsync(
      Deno.readDir(join(project, "node_modules/zarr-parts")),
    );
    assert(mod !== undefined);
    await Deno.stat(join(folder, "global/bin/zarr-parts"));
  });
}

async function script(): Promise<string> {
  return `set -e -x -m -o pipefail
shopt -s expand_aliases
${SERVED}
${"path" in PYTHON ? '"$PYTHON" -m venv venv' : ""}
${await readSession()}
`;
}

if (Deno.build.os !== "windows") { // They are commands of a Unix shell.
  testWith(
    REGISTRY,
    "the commands of the README run as printed, in order, in a fresh clone",
    async (_, t) => {
      const { fromJsr } = await chooseStandardLibrary();
      await t.step(fromJsr ? "with JSR" : "without JSR", () => runSession({}));
      if (!fromJsr) return;
      await t.step(
        "without JSR",
        () => runSession({ JSR_URL: "http://127.0.0.1:1/" }),
      );
    },
  );
}
