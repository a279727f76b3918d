import type { Signal } from "@preact/signals";
import type { Attachment } from "../shared/attachments.ts";
import { type PendingFile, problemOfStatus, UploadError, Uploads } from "../shared/uploads.ts";
import type { Api } from "./api.ts";

export { default as css } from "./files.css";

// This module imports nothing that the panel has too: the panel would otherwise have to wait for a further module.

/** Creates the uploads of a visitor. Only an XMLHttpRequest shows how much of a file is sent. */
export function createUploads(files: Signal<readonly PendingFile[]>, api: Api): Uploads {
  return new Uploads(files, (file, onProgress, signal) => {
    const { url, fields } = api.uploadTarget;
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    form.append("file", file);
    const { promise, resolve, reject } = Promise.withResolvers<Attachment>();
    const request = new XMLHttpRequest();
    request.open("POST", url);
    request.responseType = "json";
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(loaded / total));
    request.addEventListener("load", () => {
      if (request.status === 201) resolve(request.response as Attachment);
      else reject(new UploadError(problemOfStatus(request.status)));
    });
    request.addEventListener("error", () => reject(new UploadError("failed")));
    signal.addEventListener("abort", () => request.abort());
    request.send(form);
    return promise;
  });
}
