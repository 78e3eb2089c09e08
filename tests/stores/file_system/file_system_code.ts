/** The code of the file store that is tested, as it stands or with a change. */
import {
  FileGroup,
  journalPlace,
} from "../../../src/stores/file_system/file_group.ts";
import { readRangeOf } from "../../../src/stores/file_system/file_version.ts";
import { recoverFiles } from "../../../src/stores/file_system/recovery.ts";

export interface Code {
  readonly FileGroup: typeof FileGroup;
  readonly journalPlace: typeof journalPlace;
  readonly recoverFiles: typeof recoverFiles;
  readonly readRangeOf: typeof readRangeOf;
}

/** The code as it stands. */
export const CODE: Code = {
  FileGroup,
  journalPlace,
  recoverFiles,
  readRangeOf,
};
