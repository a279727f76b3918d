import type { Signal } from "@preact/signals";
import { type PendingFile, Uploads, uploadTo } from "../shared/uploads.ts";
import type { Api } from "./api.ts";

export { default as css } from "./files.css";

// This module imports nothing that the panel has too: the panel would otherwise have to wait for a further module.

/** Creates the uploads of a visitor. */
export function createUploads(files: Signal<readonly PendingFile[]>, api: Api): Uploads {
  return new Uploads(files, (file, onProgress, signal) => uploadTo(api.uploadTarget, file, onProgress, signal));
}
