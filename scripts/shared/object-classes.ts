import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "oxc-parser";
import { unstable_readConfig as readConfig } from "wrangler";

/** A class of Durable Objects. */
interface ObjectClass {
  binding: string;
  name: string;
  /** The file that declares it. */
  file: string;
}

/** Lists the classes of wrangler.toml with their files: src/index.ts exports each class from its file. */
export function objectClasses(): ObjectClass[] {
  const { module } = parseSync("src/index.ts", readFileSync("src/index.ts", "utf8"));
  const exports = module.staticExports.flatMap(({ entries }) => entries);
  const { bindings } = readConfig({ config: "wrangler.toml" }, { hideWarnings: true }).durable_objects as {
    bindings: { name: string; class_name: string }[];
  };
  return bindings.map(({ name: binding, class_name: name }) => {
    const exported = exports.find((entry) => entry.exportName.name === name);
    if (!exported?.moduleRequest) throw new Error(`src/index.ts does not export ${name} from its file`);
    return { binding, name, file: join("src", exported.moduleRequest.value) };
  });
}
