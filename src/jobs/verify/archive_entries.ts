import { isInShare } from "../../arrays/mod.ts";
import { wrongEntries, type ZipStore } from "../../zip/mod.ts";
import { DamageError, sentence } from "../../errors/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import {
  finding,
  type Findings,
  type Rule,
  type VerifyOptions,
} from "./findings.ts";

/**
 * Verifies a zip archive as such: its entries can be read, and it is as it should be. If the
 * verification is deep, all entries are compared with their CRC-32.
 */
export async function verifyArchive(
  archive: ZipStore,
  findings: Findings,
  options: VerifyOptions,
): Promise<void> {
  const { signal, share, deep = false, keepGoing = false, concurrency = 4 } =
    options;
  const found = await archive.describe(options);
  const { key, deflated, unreadable, unnamed, replaced, problems } = found;
  const name = sentence`Archive ${key}`;
  const add = (rule: Rule, text: string) =>
    findings.addShared(finding(rule, key, `${name} ${text}`));
  const addEntries = (rule: Rule, count: number, text: string) => {
    if (count > 0) {
      add(rule, `has ${count} ${count === 1 ? "entry" : "entries"} ${text}`);
    }
  };
  addEntries(
    "archive-entry",
    unreadable,
    "encrypted or compressed by a method that is not supported: unpack it, and pack it by zip -0",
  );
  for (const problem of problems) add("archive-layout", problem);
  addEntries(
    "archive-leftovers",
    replaced,
    "that later ones of the same name replace, and which take space: unpack it, and pack it by zip -0",
  );
  addEntries(
    "archive-leftovers",
    unnamed,
    "whose names are no keys, and which nobody reads",
  );
  addEntries(
    "archive-deflated",
    deflated,
    "deflated, of which a part is read from the start on: zip -0 packs entries as they are",
  );
  const wrong = wrongEntries(archive, {
    ...signal && { signal },
    isSelected: (name) => share === undefined || isInShare(share, `/${name}`),
    withBytes: false,
  });
  for await (const { key, message } of wrong) {
    findings.add(finding("archive-entry", key, message));
  }
  if (!deep) return;
  await runConcurrently(
    archive.list("/", options),
    concurrency,
    async (key, signal) => {
      if (share !== undefined && !isInShare(share, key)) return;
      try {
        const stream = await archive.stream(key, { signal });
        await stream?.pipeTo(new WritableStream());
      } catch (error) {
        const isDamage = error instanceof DamageError;
        if (!isDamage && (!keepGoing || signal.aborted)) throw error;
        const rule = isDamage ? "archive-entry" : "unreadable";
        findings.add(finding(rule, key, (error as Error).message));
      }
    },
    signal,
  );
}
