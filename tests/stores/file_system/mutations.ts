/** Ways to take one step out of the protocol of the file store. Each must be found by a scenario. */
import type { Change } from "./file_system_code.ts";

export interface Mutation {
  readonly name: string;
  readonly changes: readonly Change[];
  /** The name of the scenario that finds it. */
  readonly scenario: string;
}

export const MUTATIONS: readonly Mutation[] = [
  mutation(
    "no gap: the last file is not removed first",
    "write a, read; kills 1; tries 3",
    [
      "journal",
      "  await files.remove(to[last]!);\n",
      "",
    ],
  ),
  mutation("the last file is placed first", "write a, read; kills 1; tries 3", [
    "journal",
    "  for (let i = 0; i <= last; i++) {",
    "  for (const i of [last, ...Array(last).keys()]) {",
  ]),
  mutation("no lock", "write a, write b; kills 1; isCoarse true", [
    "journal",
    "if (await file.tryLock()) {",
    "if (true) {",
  ]),
  mutation("no journal", "write a, read; kills 1; tries 3", [
    "journal",
    "      await this.#file.replace(encodeRecord(record));\n",
    "",
  ]),
  mutation(
    "the record is written before the temporary files are complete",
    "write a, read; kills 1; tries 3",
    [
      "value",
      "    await this.#temporary.file.append(bytes);",
      "    this.late = bytes;",
    ],
    [
      "file_group",
      `        try {
          await journal.change({`,
      `        try {
          const { rename } = this.#place.files;
          journal.late = async () => {
            for (const value of values.values()) {
              await value.completeLate();
            }
          };
          await journal.change({`,
    ],
    [
      "value",
      "  /** Closes the file, and leaves it as it is. */",
      "  async completeLate() { await this.#temporary.file.append(this.late); }",
    ],
    [
      "journal",
      "      await rollForward(this.#files, this.#place, record);\n    } catch",
      "      await this.late?.();\n      await rollForward(this.#files, this.#place, record);\n    } catch",
    ],
  ),
  mutation(
    "the journal is removed before the last file is placed",
    "write a, read; kills 1; tries 3",
    [
      "journal",
      "    await files.touch(from[i]!);",
      "    if (i === last) await files.remove(place.path);\n    await files.touch(from[i]!);",
    ],
  ),
  mutation(
    "the next writer does not finish what was begun",
    "write a, read; kills 1; tries 3",
    [
      "journal",
      "        const left = await journal.#recover();",
      "        const left = undefined;",
    ],
  ),
  mutation(
    "finishing always removes the last file",
    "write a, read; kills 1; tries 3",
    [
      "journal",
      "  if (!await isThere(from[last])) return;\n",
      "",
    ],
  ),
  mutation(
    "a lock counts though its file was removed",
    "write a, write b; kills 1; isCoarse true",
    [
      "journal",
      "if (await isAt(files, file, path)) return file;",
      "return file;",
    ],
  ),
  mutation(
    "the lock ends before the journal is removed",
    "write a, write b; kills 1; isCoarse true",
    [
      "journal",
      "        await journal.#remove();\n        return result;",
      "        await journal.#file.close();\n        await journal.#remove();\n        return result;",
    ],
  ),
  mutation(
    "dead writers are looked for after journals",
    "write a, recover; kills 1",
    [
      "recover_folder",
      "          if (await file.tryLock()) dead.set(found.temporary, file);\n",
      "",
    ],
    [
      "recover_folder",
      "      for (const path of dead.keys()) {",
      `      for await (const found of list()) {
        if (!("temporary" in found)) continue;
        const file = await files.open(found.temporary);
        if (file === undefined) continue;
        if (await file.tryLock()) dead.set(found.temporary, file);
        else await file.close();
      }
      for (const path of dead.keys()) {`,
    ],
  ),
  mutation(
    "recovery does not look whether writers are alive",
    "write a, recover; kills 1",
    [
      "recover_folder",
      "if (await file.tryLock()) dead",
      "if (true) dead",
    ],
  ),
  mutation("temporary files are not locked", "write a, recover; kills 1", [
    "value",
    "await file.tryLock() && ",
    "",
  ]),
  mutation(
    "temporary files may be gone when they are locked",
    "write a, recover; kills 1",
    [
      "value",
      "await file.tryLock() && await files.stat(path) !== undefined",
      "await file.tryLock()",
    ],
  ),
  mutation("a reader does not check", "write a, read; kills 1; tries 3", [
    "read_group",
    "    const isOneWrite = isSameState(",
    "    const isOneWrite = true || isSameState(",
  ]),
  mutation(
    "a reader opens the last file last",
    "write a, read; kills 1; tries 3",
    [
      "read_group",
      "    for (let i = found.length; i-- > 0;) {",
      "    for (let i = 0; i < found.length; i++) {",
    ],
  ),
  mutation(
    "a reader checks before it opens the others",
    "write a, read; kills 1; tries 3",
    [
      "read_group",
      "      if (path !== undefined) opened[i] = await files.open(path);",
      `      if (path !== undefined) opened[i] = await files.open(path);
      if (i === found.length - 1 && opened[i] !== undefined) {
        const state = await opened[i].stat();
        early = isSameState(state, await files.stat(path));
      }`,
    ],
    [
      "read_group",
      "    // The last file is opened first.\n",
      "    let early = false;\n",
    ],
    [
      "read_group",
      "    const isOneWrite = isSameState(",
      "    const isOneWrite = early || isSameState(",
    ],
  ),
  mutation(
    "a reader closes the last file before it checks",
    "write a, write b, read; isCoarse true; tries 0",
    [
      "read_group",
      "    const isOneWrite = isSameState(\n      await opened.at(-1)!.stat(),",
      "    const isOneWrite = isSameState(\n      first,",
    ],
    [
      "read_group",
      "      if (path !== undefined) opened[i] = await files.open(path);",
      `      if (path !== undefined) opened[i] = await files.open(path);
      if (i === found.length - 1 && opened[i] !== undefined) {
        first = await opened[i].stat();
        const text = await opened[i].contents();
        await opened[i].close();
        opened[i] = { read: () => text, size: () => text.length, contents: () => text, stat: () => first, close() {} };
      }`,
    ],
    [
      "read_group",
      "    // The last file is opened first.\n",
      "    let first;\n",
    ],
  ),
  mutation(
    "files that are absent are looked for twice",
    "write a, write b, read; isCoarse true; tries 2; kills 0",
    ["read_group", "const SIGHTINGS = 3;", "const SIGHTINGS = 2;"],
  ),
  mutation(
    "a reader does not look for a journal",
    "write a, read; kills 1; tries 3",
    [
      "read_group",
      "        await isThere(files, await paths.journal());",
      "        false;",
    ],
  ),
  mutation("versions are not compared", "write a, version; kills 1; ticks 1", [
    "file_version",
    "    return isSameState(this.#state, file.stat());",
    "    return true;",
  ]),
  mutation(
    "versions of young files are not held open",
    "write a, write b, version; isCoarse true; tries 0",
    [
      "read_group",
      "    if (isOld(state, this.#openedAt)) return new FileVersion(state, place);\n",
      "    return new FileVersion(state, place);\n",
    ],
  ),
  mutation(
    "the update reads before it has the lock",
    "update a, update b; kills 1",
    [
      "file_group",
      "      return await this.#change(\n        (journal) => task(new FileGroup(this.#place, journal)),\n        options,\n      );",
      "      return await task(new FileGroup(this.#place));",
    ],
  ),
  mutation(
    "a plain write of one file takes no lock",
    "update a, write b; kills 1; parts 1",
    [
      "file_group",
      "      await this.#change(async (journal) => {",
      "      const locked = (task) => keys.length === 1 ? task() : this.#change(task, options.signal);\n      await locked(async (journal) => {",
    ],
  ),
  mutation(
    "temporary files are removed though a change has begun",
    'write a; failures 1; codes ["EIO"]',
    [
      "file_group",
      "          areTaken = journal.isUnfinished;",
      "          areTaken = false;",
    ],
  ),
  mutation(
    "a failed change removes its journal",
    'write a; failures 1; codes ["EIO"]',
    [
      "journal",
      "        if (!journal.#isUnfinished) await journal.#tryRemove();",
      "        await journal.#tryRemove();",
    ],
  ),
  mutation(
    "a change that has begun fails like any other",
    'write a; failures 1; codes ["EIO"]',
    [
      "journal",
      "throw hasRecord ? this.#pending(record, error) : error;",
      "throw error;",
    ],
  ),
  mutation(
    "a record whose writing has failed is not withdrawn",
    'write a; failures 3; codes ["EIO"]',
    ["journal", "        await this.#withdraw(record, error);\n", ""],
  ),
  mutation(
    "a journal that cannot be read is removed",
    'write a, recover; failures 1; codes ["EIO"]; kills 1; isCoarse true',
    [
      "journal",
      "    this.#isUnfinished = true;\n    const record",
      "    const record",
    ],
  ),
  mutation(
    "recovery removes temporary files though it could not read a journal",
    'write a, recover; failures 1; codes ["EIO"]; kills 1; isCoarse true',
    ["recover_folder", "      failures.throwIfAny();\n", ""],
  ),
];

function mutation(
  name: string,
  scenario: string,
  ...changes: Change[]
): Mutation {
  return { name, scenario, changes };
}
