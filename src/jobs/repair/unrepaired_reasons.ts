import type { Rule } from "../verify/finding.ts";

const FROM_COPY =
  "its right bytes are stored nowhere else; restore the chunk from a copy of the array, or write it again";
const PART =
  "its right bytes are stored nowhere else; restore the chunk from a copy of the array, write it again, or adopt its file again";
const LEFTOVER = "it may still be wanted; remove it if it is not";

/** For each rule: why a finding is not repaired, and what to do. */
export const REASONS: Readonly<Record<Rule, string>> = {
  "metadata-invalid":
    "its right contents are not known; restore the document from a copy",
  "unreadable": "the store failed to read it; try again",
  "metadata-not-json":
    "only you know what the programs expect that read it; write a string instead",
  "v2-metadata":
    "programs of Zarr v2 may need it; remove it if the chunks were moved",
  "consolidated-metadata-differs":
    "the node has no valid document of its own; restore that document, or consolidate the metadata anew",
  "conversion-unfinished":
    'only the conversion knows what is missing; run it again, with the option "resume" unless it is one in place',
  "part-missing": PART,
  "part-size": PART,
  "chunk-unfinished":
    "a program is writing the chunk; repair it again when nobody writes",
  "chunk-size": FROM_COPY,
  "chunk-checksum": FROM_COPY,
  "chunk-decoding": FROM_COPY,
  "chunk-undecoded":
    "nobody looked at them; verify them by a program that knows the codec",
  "index-checksum": FROM_COPY,
  "index-extents": FROM_COPY,
  "inner-chunk-checksum": FROM_COPY,
  "inner-chunk-decoding": FROM_COPY,
  "adopted-file-changed": "only you know whether the file is right",
  "adopted-file-record":
    'the file may have been replaced; adopt the files again with the option "overwrite"',
  "values-unexplained":
    "only the document tells what they are; restore the document from a copy",
  "chunk-misplaced":
    "only you know which key is right; move the value, or correct the document",
  "chunk-outside-grid": LEFTOVER,
  "stray-object": LEFTOVER,
  "unknown-file": LEFTOVER,
};
