// The types of the built Worker, by which wrangler types its bindings. What scripts/build.ts writes beside this is not kept.
export * from "../../src/index.ts";
export { default } from "../../src/index.ts";
