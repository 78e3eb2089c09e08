import { v2View } from "../../mod.ts";
import { testStore } from "../stores/conformance.ts";
import { STORES } from "./every_store.ts";

for (const [name, { lacks, open }] of Object.entries(STORES)) {
  testStore(
    `v2View of ${name}`,
    async () => {
      const opened = await open();
      return { ...opened, store: v2View(opened.store) };
    },
    { lacks },
  );
}
