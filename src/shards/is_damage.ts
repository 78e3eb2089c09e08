import { DamageError } from "../errors/damage_error.ts";
import { UnfinishedWriteError } from "../stores/unfinished_write_error.ts";

/** Whether an error says that a shard is damaged, or was left unfinished. */
export function isDamage(error: unknown): boolean {
  return error instanceof DamageError || error instanceof UnfinishedWriteError;
}
