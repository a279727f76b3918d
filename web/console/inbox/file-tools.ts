import { signal } from "@preact/signals";

/** What shows and uploads files. */
type FileTools = typeof import("../../shared/files.tsx") & typeof import("../../shared/uploads.ts");

/** It is loaded after the inbox, which can be used without it. */
export const fileTools = signal<FileTools | undefined>(undefined);

/** Loads the tools. Without them, replies carry no files. */
export async function loadFileTools(): Promise<void> {
  const [files, uploads] = await Promise.all([import("../../shared/files.tsx"), import("../../shared/uploads.ts")]);
  fileTools.value = { ...files, ...uploads };
}
