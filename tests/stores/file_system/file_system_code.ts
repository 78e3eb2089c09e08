/** The code of the file store that is tested, as it stands or with a change. */
import {
  prepareFiles,
  removeFiles,
  updateFiles,
  writeFile,
} from "../../../src/stores/file_system/change_files.ts";
import {
  readFileOf,
  readFiles,
} from "../../../src/stores/file_system/read_files.ts";
import { recoverFiles } from "../../../src/stores/file_system/recover_folder.ts";

/** The code as it stands. */
export const CODE = {
  prepareFiles,
  removeFiles,
  updateFiles,
  writeFile,
  readFiles,
  readFileOf,
  recoverFiles,
};
export type Code = typeof CODE;

const FOLDER = new URL("../../../src/stores/file_system/", import.meta.url);

/** A change of the source: the file, a text in it that is there once, and its replacement. */
export type Change = readonly [file: string, text: string, replacement: string];

/** Runs a task with a copy of the code that has some changes. */
export async function withChanges(
  changes: readonly Change[],
  task: (code: Code) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    for (const [file] of changes) {
      await Deno.stat(new URL(`${file}.ts`, FOLDER));
    }
    for await (const { name } of Deno.readDir(FOLDER)) {
      const text = await Deno.readTextFile(new URL(name, FOLDER));
      await Deno.writeTextFile(
        `${folder}/${name}`,
        "// @ts-nocheck a changed copy\n" + changed(name, text, changes)
          .replaceAll('"../', `"${new URL("../", FOLDER)}`),
      );
    }
    const load = (name: string) => import(`file://${folder}/${name}.ts`);
    const modules = ["change_files", "read_files", "recover_folder"];
    await task(Object.assign({}, ...await Promise.all(modules.map(load))));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function changed(
  name: string,
  text: string,
  changes: readonly Change[],
): string {
  for (const [file, part, replacement] of changes) {
    if (`${file}.ts` !== name) continue;
    if (text.split(part).length !== 2) {
      throw new Error(`Expected a text once in ${name}, found it not: ${part}`);
    }
    text = text.replace(part, () => replacement);
  }
  return text;
}
