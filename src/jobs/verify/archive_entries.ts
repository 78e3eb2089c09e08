import { isInShare } from "../../arrays/mod.ts";
import { wrongEntries, type ZipStore } from "../../zip/mod.ts";
import { DamageError, describe } from "../../errors/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import { finding, type Findings, type VerifyOptions } from "./findings.ts";

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
  const storeOptions = signal ? { signal } : {};
  const found = await archive.describe(storeOptions);
  const { key, deflated, unreadable, unnamed, replaced, problems } = found;
  const name = `Archive ${describe(key)}`;
  if (unreadable > 0) {
    findings.addShared(finding(
      "archive-entry",
      key,
      `${name} has ${
        entriesText(unreadable)
      } encrypted or compressed by a method that is not supported: unpack it, and pack it by zip -0`,
    ));
  }
  for (const problem of problems) {
    findings.addShared(finding("archive-layout", key, `${name} ${problem}`));
  }
  if (replaced > 0) {
    findings.addShared(finding(
      "archive-leftovers",
      key,
      `${name} has ${
        entriesText(replaced)
      } that later ones of the same name replace, and which take space: unpack it, and pack it by zip -0`,
    ));
  }
  if (unnamed > 0) {
    findings.addShared(finding(
      "archive-leftovers",
      key,
      `${name} has ${
        entriesText(unnamed)
      } whose names are no keys, and which nobody reads`,
    ));
  }
  if (deflated > 0) {
    findings.addShared(finding(
      "archive-deflated",
      key,
      `${name} has ${
        entriesText(deflated)
      } deflated, of which a part is read from the start on: zip -0 packs entries as they are`,
    ));
  }
  const wrong = wrongEntries(archive, {
    ...storeOptions,
    isSelected: (name) => share === undefined || isInShare(share, `/${name}`),
    withBytes: false,
  });
  for await (const { key, message } of wrong) {
    findings.add(finding("archive-entry", key, message));
  }
  if (!deep) return;
  await runConcurrently(
    archive.list("/", storeOptions),
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

function entriesText(count: number): string {
  return count === 1 ? "1 entry" : `${count} entries`;
}
