/** Ways to take one step out of the protocol of the file store. Each must be found by a scenario. */
import type { Change } from "./file_system_code.ts";

export interface Mutation {
  readonly name: string;
  /** The name of the scenario that finds it. */
  readonly scenario: string;
  readonly changes: readonly Change[];
}

const READ = "write a, read; kills 1; tries 3";
/** Reads the last file first: a reader that begins with the first one has checked enough. */
const VERSION = "write a, version; kills 1; ticks 1";
const TWO_WRITERS = "write a, write b; kills 1";
const RECOVER = "write a, recover; kills 1";
const FAILURE = 'write a; failures 1; codes ["EIO"]';
const FAILING_RECOVERY = 'write a, recover; failures 1; codes ["EIO"]; kills 1';

export const MUTATIONS: readonly Mutation[] = [
  mutation("no gap: the last file is not removed first", READ, [
    "journal",
    "removed: [written.at(-1)![1]]",
    "removed: []",
  ]),
  mutation("the last file is placed first", READ, [
    "journal",
    "of [...renamed, ...written])",
    "of [...renamed, ...written].toReversed())",
  ]),
  mutation("no lock", TWO_WRITERS, [
    "locked_value",
    "      if (!await file.tryLock()) return undefined;\n",
    "",
  ]),
  mutation("no journal", READ, [
    "journal",
    "      await this.#file.replace(encodeRecord(change));\n",
    "",
  ]),
  mutation(
    "the record is written before the last bytes are",
    READ,
    [
      "change_files",
      "    await appendAll(temporary.file, bytes, this.#options.signal);",
      "    temporary.late = bytes;",
    ],
    [
      "change_files",
      "        await lock.change({ chunk, ...stepsOf(files) });",
      `        lock.late = async () => {
          for (const { file, late } of temporaries) await file.append(late);
        };
        await lock.change({ chunk, ...stepsOf(files) });`,
    ],
    [
      "journal",
      "      await this.#rollForward(change);\n    } catch",
      "      await this.late?.();\n      await this.#rollForward(change);\n    } catch",
    ],
  ),
  mutation("the journal is removed before the last file is placed", READ, [
    "journal",
    "      await system.rename(path, target);",
    "      if (pair === last) await system.remove(this.#place.path);\n      await system.rename(path, target);",
  ]),
  mutation("the next writer does not finish what was begun", READ, [
    "journal",
    "        await journal.#recover();\n",
    "",
  ]),
  mutation("finishing always removes the last file", READ, [
    "journal",
    "if (last && !",
    "if (false && !",
  ]),
  mutation("a lock counts though its file was removed", TWO_WRITERS, [
    "locked_value",
    "      isLocked = isSameState(file.stat(), await system.stat(path));",
    "      isLocked = true;",
  ]),
  mutation("the lock ends before the journal is removed", TWO_WRITERS, [
    "journal",
    "        await journal.#remove();\n        return result;",
    "        file.close();\n        await journal.#remove();\n        return result;",
  ]),
  mutation(
    "dead writers are looked for after journals",
    RECOVER,
    [
      "recover_folder",
      `        const file = await lockDead(system, path);
        if (file === undefined) continue;
        dead.set(path, dryRun ? undefined : file);
        if (dryRun) file.close();
`,
      "",
    ],
    [
      "recover_folder",
      "      for (const path of dead.keys()) {",
      `      for await (const { temporary } of list()) {
        const file = temporary && await lockDead(system, temporary);
        if (file) dead.set(temporary, file);
      }
      for (const path of dead.keys()) {`,
    ],
  ),
  mutation("recovery does not look whether writers are alive", RECOVER, [
    "recover_folder",
    "isDead = await file.tryLock() &&",
    "isDead = true &&",
  ]),
  mutation(
    "recovery removes a lock that another writer has by now",
    "set a, set b, recover; kills 1; parts 1",
    [
      "recover_folder",
      "isSameState(file.stat(), await system.stat(path))",
      "true",
    ],
  ),
  mutation("temporary files are not locked", RECOVER, [
    "change_files",
    "await file.tryLock() && ",
    "",
  ]),
  mutation("temporary files may be gone when they are locked", RECOVER, [
    "change_files",
    "await file.tryLock() && await system.stat(path) !== undefined",
    "await file.tryLock()",
  ]),
  mutation("a reader does not check", VERSION, [
    "read_files",
    "    const isOneWrite = keys.every(",
    "    const isOneWrite = true || keys.every(",
  ]),
  mutation(
    "a reader does not check the file that it has opened before the others",
    READ,
    ["read_files", "i < last && !earlier[i] ||", "i < last ||"],
  ),
  mutation("a reader opens the last file last", READ, [
    "read_files",
    "for (let i = keys.length; i-- > 0;)",
    "for (let i = 0; i < keys.length; i++)",
  ]),
  mutation(
    "a reader checks before it opens the others",
    VERSION,
    [
      "read_files",
      "    for (let i = keys.length; i-- > 0;) files[i] ??= root.open(keys[i]!);",
      `    let early = false;
    for (let i = keys.length; i-- > 0;) {
      files[i] ??= root.open(keys[i]!);
      if (i === keys.length - 1) {
        early = isSameState(files[i]?.stat(), root.state(keys[i]));
      }
    }`,
    ],
    [
      "read_files",
      "    const isOneWrite = keys.every(",
      "    const isOneWrite = early || keys.every(",
    ],
  ),
  mutation(
    "a reader closes the last file before it checks",
    "write a, write b, read; tries 0; parts 3",
    [
      "read_files",
      "    for (let i = keys.length; i-- > 0;) files[i] ??= root.open(keys[i]!);",
      `    let first;
    for (let i = keys.length; i-- > 0;) {
      files[i] ??= root.open(keys[i]);
      if (i < keys.length - 1 || files[i] === undefined) continue;
      first = files[i].stat();
      files[i].close();
    }`,
    ],
    [
      "read_files",
      "isSameState(files[i]!.stat(), root.state(key))\n    );",
      "isSameState(i === last ? first : files[i].stat(), root.state(key))\n    );\n    files[last] = root.open(keys[last]);",
    ],
  ),
  mutation(
    "files that are absent are looked for twice",
    "write a, write b, read; tries 2; kills 0",
    ["read_files", "MOST_INCOMPLETE = 3;", "MOST_INCOMPLETE = 2;"],
  ),
  mutation("a reader does not look for a journal", READ, [
    "read_files",
    " && await isBeingWritten(context, name)",
    " && false",
  ]),
  mutation(
    "versions are not compared",
    "write a, version; kills 1; ticks 1",
    [
      "read_files",
      "      return isSameState(version.state, file?.stat())",
      "      return file",
    ],
  ),
  mutation(
    "versions of young files are not held open",
    "write a, write b, version; tries 0",
    [
      "read_files",
      "    if (isOld(state, this.#openedAt)) return",
      "    return",
    ],
  ),
  mutation(
    "the update reads before it has the lock",
    "update a, update b; kills 1",
    [
      "change_files",
      "  const read = () => readFiles(context, keys, compute, options, true);",
      "  const early = await readFiles(context, keys, compute, options, true);\n  const read = () => early;",
    ],
  ),
  mutation(
    "a plain write of one file takes no lock",
    "set a, update b; kills 1; parts 1",
    [
      "locked_value",
      "    await turns.write(path, async () => {\n      signal?.throwIfAborted();\n      const file = await lockFile(system, path, signal);",
      "    await turns.write(path, async () => {\n      const file = await system.openOrCreate(path + crypto.randomUUID());",
    ],
  ),
  mutation(
    "what a killed writer left in the lock stays",
    "set a, set b, read; kills 1; parts 1",
    [
      "locked_value",
      "    if (file.size() > 0) await file.replace(new Uint8Array());\n",
      "",
    ],
  ),
  mutation("temporary files are removed though a change has begun", FAILURE, [
    "change_files",
    "      this.#areTaken = error instanceof PendingWriteError;\n",
    "",
  ]),
  mutation("a failed change removes its journal", FAILURE, [
    "journal",
    "        if (!journal.#isUnfinished) await journal.#tryRemove();",
    "        await journal.#tryRemove();",
  ]),
  mutation("a change that has begun fails like any other", FAILURE, [
    "journal",
    "throw this.#pending(change, error);\n    }\n    this.#isUnfinished = false;",
    "throw error;\n    }\n    this.#isUnfinished = false;",
  ]),
  mutation(
    "a record whose writing has failed is not withdrawn",
    'write a; failures 3; codes ["EIO"]',
    ["journal", "      await this.#clear(change);\n", ""],
  ),
  mutation("a journal that cannot be read is removed", FAILING_RECOVERY, [
    "journal",
    "    this.#isUnfinished = true;\n    const change",
    "    const change",
  ]),
  mutation(
    "recovery removes temporary files though it could not read a journal",
    FAILING_RECOVERY,
    ["recover_folder", "      assertNone(failures);\n", ""],
  ),
];

function mutation(
  name: string,
  scenario: string,
  ...changes: Change[]
): Mutation {
  return { name, scenario, changes };
}
