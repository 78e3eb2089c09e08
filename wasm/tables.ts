import { timesX } from "./field";
import { TABLES } from "./memory";

// Table k, of 256 registers of four bytes, at k KiB: what a byte leaves in the
// register when k more bytes follow it.
for (let byte: u32 = 0; byte < 256; byte++) {
  let register = byte;
  for (let bit = 0; bit < 8; bit++) register = timesX(register);
  store<u32>(TABLES + (byte << 2), register);
}
for (let entry: u32 = 256; entry < 16 * 256; entry++) {
  const before = load<u32>(TABLES + ((entry - 256) << 2));
  store<u32>(
    TABLES + (entry << 2),
    (before >> 8) ^ load<u32>(TABLES + ((before & 255) << 2)),
  );
}

/** What four bytes leave in the register when `after` more bytes follow them. */
function four(bytes: u32, after: usize): u32 {
  return one(bytes & 255, after + 3) ^
    one((bytes >> 8) & 255, after + 2) ^
    one((bytes >> 16) & 255, after + 1) ^
    one(bytes >> 24, after);
}

function one(byte: u32, after: usize): u32 {
  return load<u32>(TABLES + (after << 10) + (byte << 2));
}

/** The register after more bytes, sixteen at a time by the tables. */
export function byTables(register: u32, from: usize, length: u32): u32 {
  const end = from + length;
  const lastSixteen = from + (length & ~15);
  for (; from < lastSixteen; from += 16) {
    register = four(load<u32>(from) ^ register, 12) ^
      four(load<u32>(from, 4), 8) ^
      four(load<u32>(from, 8), 4) ^
      four(load<u32>(from, 12), 0);
  }
  for (; from < end; from++) {
    register = (register >> 8) ^
      one((register ^ load<u8>(from)) & 255, 0);
  }
  return register;
}
