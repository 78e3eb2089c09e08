import { assert, assertEquals } from "@std/assert";
import { SYSTEM_FILES } from "../../../src/stores/file_system/system_files.ts";
import type { Files, OpenFile } from "../../../src/stores/file_system/files.ts";
import {
  createTemporary,
  discardTemporary,
} from "../../../src/stores/file_system/value.ts";
import { inTempDir } from "../temp_dir.ts";
import { temporaryFiles } from "./processes.ts";

Deno.test("createTemporary leaves no file that a dry run of recover has locked first", () =>
  inTempDir(async (folder) => {
    let locked: OpenFile | undefined;
    const files: Files = {
      ...SYSTEM_FILES,
      async create(path) {
        const file = await SYSTEM_FILES.create(path);
        if (locked === undefined) {
          locked = await SYSTEM_FILES.open(path);
          assert(await locked!.tryLock());
        }
        return file;
      },
    };
    const temporary = await createTemporary(files, folder);
    await locked!.close();
    assertEquals((await temporaryFiles(folder)).length, 1);
    await discardTemporary(files, temporary);
    assertEquals(await temporaryFiles(folder), []);
  }));
