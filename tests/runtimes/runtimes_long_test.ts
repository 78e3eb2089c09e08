import { fileURLToPath } from "node:url";
import { testPrintsTheSame } from "./programs.ts";

const at = (path: string) => fileURLToPath(import.meta.resolve(path));

testPrintsTheSame("adapter", at("./portable_zarrita.ts"));
testPrintsTheSame("module of all exports", at("./all_exports.ts"));
