import { assertRejects } from "@std/assert";
import { toBytes } from "@std/streams/to-bytes";
import { PassThrough, Readable } from "node:stream";
import { ConcatParts, concatStream, splitStream } from "../../mod.ts";

const PARTS = new ConcatParts([{ keySuffix: "" }, {
  keySuffix: ".end",
  size: 2,
}]);

// Types that plain JavaScript does not check.
// deno-lint-ignore no-explicit-any
const asAny = (value: unknown): any => value;

Deno.test("splitStream and concatStream refuse streams of Node, and say how to convert them", async () => {
  const readable = "found a stream of Node: use Readable.toWeb(stream)";
  const writable = "found a stream of Node: use Writable.toWeb(stream)";
  await assertRejects(
    async () =>
      await splitStream(
        asAny(Readable.from(["abc"])),
        PARTS,
        () => new WritableStream(),
      ),
    TypeError,
    readable,
  );
  await assertRejects(
    () =>
      splitStream(
        new Blob(["abc"]).stream(),
        PARTS,
        () => asAny(new PassThrough()),
      ),
    TypeError,
    writable,
  );
  await assertRejects(
    () => toBytes(concatStream(PARTS, () => asAny(Readable.from(["abc"])))),
    TypeError,
    readable,
  );
});
