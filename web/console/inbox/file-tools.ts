import { signal } from "@preact/signals";
import type * as files from "../../shared/files.tsx";
import type * as uploads from "../../shared/uploads.ts";

/** What shows and uploads files. */
type FileTools = typeof files & typeof uploads;

/** It is loaded after the inbox, which can be used without it. */
export const fileTools = signal<FileTools | undefined>(undefined);

/** Loads the tools. Without them, replies carry no files. */
export async function loadFileTools(): Promise<void> {
  const [shown, uploaded] = await Promise.all([import("../../shared/files.tsx"), import("../../shared/uploads.ts")]);
  fileTools.value = { ...shown, ...uploaded };
}
