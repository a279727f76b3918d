import type { Signal } from "@preact/signals";
import type { Attachment, FileProblem } from "./attachments.ts";

/** The most files of a message, and the largest file, in bytes. */
const MAX_FILES = 5;
const MAX_FILE_BYTES = 10 * 1024 * 1024;
/** A file that is being added to a message. */
export interface PendingFile {
  key: number;
  name: string;
  /** From 0 to 1. */
  progress: number;
  problem?: FileProblem;
  /** Set once the file is uploaded. */
  attachment?: Attachment;
}

/** An upload that the service refused, or that failed. */
class UploadError extends Error {
  constructor(readonly problem: FileProblem) {
    super(problem);
  }
}

/** @throws UploadError */
type UploadFile = (file: File, onProgress: (share: number) => void, signal: AbortSignal) => Promise<Attachment>;

let lastKey = 0;

/** The files of the message that is being written. They are uploaded as soon as they are added. */
export class Uploads {
  private readonly running = new Map<number, AbortController>();

  /** @param files begins as an empty list. */
  constructor(
    readonly files: Signal<readonly PendingFile[]>,
    private readonly upload: UploadFile,
  ) {}

  /** The handlers of an element on which files are dropped or pasted. */
  readonly handlers = {
    onDragOver: (event: DragEvent) => event.dataTransfer?.types.includes("Files") && event.preventDefault(),
    onDrop: (event: DragEvent) => this.addFrom(event, event.dataTransfer),
    onPaste: (event: ClipboardEvent) => hasText(event.clipboardData) || this.addFrom(event, event.clipboardData),
  };

  /** Whether a file is being uploaded, so that the message cannot be sent yet. */
  get isBusy(): boolean {
    return this.files.value.some(({ attachment, problem }) => !attachment && !problem);
  }

  /** The files that are uploaded. */
  get ready(): Attachment[] {
    return this.files.value.flatMap(({ attachment }) => attachment ?? []);
  }

  /** Adds files, and uploads those that a message can carry. */
  add(files: Iterable<File>): void {
    for (const file of files) {
      const count = this.files.value.filter(({ problem }) => !problem).length;
      const problem = file.size > MAX_FILE_BYTES ? "too_large" : count >= MAX_FILES ? "too_many" : undefined;
      const key = ++lastKey;
      this.files.value = [...this.files.value, { key, name: file.name, progress: 0, ...(problem && { problem }) }];
      if (!problem) void this.run(key, file);
    }
  }

  private addFrom(event: Event, data: DataTransfer | null): void {
    if (!data || data.files.length === 0) return;
    event.preventDefault();
    this.add(data.files);
  }

  remove(key: number): void {
    this.running.get(key)?.abort();
    this.files.value = this.files.value.filter((file) => file.key !== key);
  }

  /** Removes all files. @returns those that are uploaded, for the message that takes them. */
  take(): Attachment[] {
    const { ready } = this;
    for (const { key } of this.files.value) this.remove(key);
    return ready;
  }

  /** Adds files that are uploaded already, of a message that could not be sent. */
  restore(attachments: readonly Attachment[]): void {
    const files = attachments.map((attachment) => ({ key: ++lastKey, name: attachment.name, progress: 1, attachment }));
    this.files.value = [...files, ...this.files.value];
  }

  private async run(key: number, file: File): Promise<void> {
    const controller = new AbortController();
    this.running.set(key, controller);
    try {
      const attachment = await this.upload(file, (progress) => this.change(key, { progress }), controller.signal);
      this.change(key, { attachment, progress: 1 });
    } catch (error) {
      this.change(key, { problem: error instanceof UploadError ? error.problem : "failed" });
    } finally {
      this.running.delete(key);
    }
  }

  private change(key: number, changes: Partial<PendingFile>): void {
    this.files.value = this.files.value.map((file) => (file.key === key ? { ...file, ...changes } : file));
  }
}

/** Whether a text was copied, to which Word and Excel add a picture of it. The name that the Finder adds to a copied file has no HTML. */
function hasText(data: DataTransfer | null): boolean {
  return ["text/plain", "text/html"].every((type) => data?.types.includes(type));
}

/** Where files are uploaded to. */
interface UploadTarget {
  url: string;
  /** The fields of the form besides the file. */
  fields?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  /** Called when a file is sent. It returns a function that takes the status of the response. */
  watchStatus?: () => (status: number) => void;
}

/**
 * Uploads a file as a form. Only an XMLHttpRequest shows how much of it is sent.
 * @throws UploadError
 */
export function uploadTo(
  { url, fields = {}, headers = {}, watchStatus }: UploadTarget,
  file: File,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<Attachment> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append("file", file);
  const { promise, resolve, reject } = Promise.withResolvers<Attachment>();
  const request = new XMLHttpRequest();
  request.open("POST", url);
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  request.responseType = "json";
  const onStatus = watchStatus?.();
  request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(loaded / total));
  request.addEventListener("load", () => {
    onStatus?.(request.status);
    if (request.status === 201) resolve(request.response as Attachment);
    else reject(new UploadError(problemOfStatus(request.status)));
  });
  request.addEventListener("error", () => reject(new UploadError("failed")));
  signal.addEventListener("abort", () => request.abort());
  request.send(form);
  return promise;
}

/** The problem of an upload that the service answered with this status. */
function problemOfStatus(status: number): FileProblem {
  if (status === 413) return "too_large";
  return status === 422 ? "unsupported" : "failed";
}
