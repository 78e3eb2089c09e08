/** Writes `docs/command-line.md` from the help of the commands: `deno task build` */
import { parserOf } from "../src/cli/command.ts";
import { COMMANDS } from "../src/cli/commands.ts";

const PAGE = new URL("../docs/command-line.md", import.meta.url);

const INTRODUCTION = `# The command line

In a clone, \`npx -y deno@2.9.6 task cli\` runs the command line. Installed from
npm (\`npm install -g zarr-parts\`) or by Deno
(\`deno install -g -A -n zarr-parts jsr:@zarr-parts/zarr-parts/cli\`), its name is
\`zarr-parts\`. Arrays are named by the path or the URL of their folder or
archive, and in buckets by \`s3://bucket/prefix\`
([the variables](stores.md#buckets) are those of AWS).

| exit status | when                                                                                                          |
| ----------- | ------------------------------------------------------------------------------------------------------------- |
| 0           | the work is done; \`verify\` and \`repair\` leave no finding of the severity of \`--fail-on\`                       |
| 1           | the work has failed, or nothing is at a path; \`verify\` or \`repair\` leaves errors                              |
| 2           | wrong usage: an option, a layout that an array cannot have, a file in the place of a folder                   |
| 130         | stopped by Ctrl-C, except \`serve\`, which ends with 0                                                          |
| 141         | nobody reads standard output any more, as after \`\\| head -1\`, and the work may be unfinished; \`serve\` goes on |

Errors and progress go to standard error. With \`--json\`, a command prints one
JSON document in place of text, and \`serve\` one for each request; an error is
JSON in one line on standard error. [\`schemas/\`](schemas/inspect.schema.json)
has the JSON Schemas. No log shows the query of a URL, which may hold a
signature. A request without an answer for three seconds is named on standard
error; \`--timeout\` ends the wait.

This page is made by \`deno task build\` from \`zarr-parts COMMAND --help\`, which
also shows examples.
`;

/** Matches the options that all commands have, which the page shows once. */
const COMMON = /\nCommon options:\n[^]*?\n\n/;
/** Matches the examples, of which the guides have more. */
const EXAMPLES = /\n+Examples:\n[^]*$/;

/** The text of the page. */
export async function commandReference(): Promise<string> {
  let common = "";
  let pages = "";
  for (const [name, { load }] of Object.entries(COMMANDS)) {
    const lines: string[] = [];
    const parser = parserOf(await load(), (line) => lines.push(line));
    parser.configureHelp({ helpWidth: 80 }).outputHelp();
    const help = lines.join("\n").trim();
    // The width of its columns differs between commands.
    common ||= COMMON.exec(help)?.[0] ?? "";
    pages += `\n## ${name}\n\n${
      fenced(help.replace(COMMON, "\n").replace(EXAMPLES, ""))
    }`;
  }
  return `${INTRODUCTION}\n${fenced(common.trim())}${pages}`;
}

function fenced(text: string): string {
  return `\`\`\`text\n${text}\n\`\`\`\n`;
}

if (import.meta.main) {
  await Deno.writeTextFile(PAGE, await commandReference());
}
