import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { Icon } from "./icons.tsx";
import { ExternalLink } from "./markdown.tsx";
import { safeUrl } from "./plain-text.ts";
import type { Attachment, FileProblem } from "./attachments.ts";
import type { Uploads } from "./uploads.ts";

/** What a dialog for choosing files offers. The service decides by the content. */
const ACCEPTED = "image/jpeg,image/png,image/webp,image/gif,application/pdf,text/plain,.log,.md,.csv";

/** The texts of the files of a message that is being written. */
export interface FileWords {
  attach: string;
  files: string;
  remove: (name: string) => string;
  uploading: (name: string) => string;
  problems: Record<FileProblem, (name: string) => string>;
}

/** A button that opens a dialog for choosing files. */
export function AttachButton({ uploads, words, class: own }: FileProps & { class: string }): VNode {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        accept={ACCEPTED}
        onChange={({ currentTarget }) => {
          uploads.add(currentTarget.files ?? []);
          // The same file may be chosen again.
          currentTarget.value = "";
        }}
      />
      <button type="button" class={own} aria-label={words.attach} title={words.attach} onClick={() => input.current?.click()}>
        <Icon name="attach" />
      </button>
    </>
  );
}

interface FileProps {
  uploads: Uploads;
  words: FileWords;
}

/** The files of the message that is being written. */
export function PendingFiles({ uploads, words }: FileProps): VNode | null {
  const files = uploads.files.value;
  if (files.length === 0) return null;
  return (
    <div class="pending-files">
      <ul aria-label={words.files}>
        {files.map(({ key, name, progress, problem, attachment }) => (
          <li key={key} class={problem ? "file has-problem" : "file"}>
            {attachment && isImage(attachment) ? (
              <Thumbnail attachment={attachment} />
            ) : (
              <Icon name={problem ? "alert" : "file"} size={16} />
            )}
            <span class="file-name" dir="auto">
              {problem ? words.problems[problem](name) : name}
            </span>
            {!attachment && !problem && <progress max={1} value={progress} aria-label={words.uploading(name)} />}
            <button
              type="button"
              class="file-remove"
              aria-label={words.remove(name)}
              title={words.remove(name)}
              onClick={() => uploads.remove(key)}
            >
              <Icon name="close" size={14} />
            </button>
          </li>
        ))}
      </ul>
      <p class="file-status" role="status">
        {files.map(({ name, problem }) => (problem ? `${words.problems[problem](name)} ` : ""))}
      </p>
    </div>
  );
}

/** The files of a message: images as thumbnails, others by their names. Each opens in a tab of its own. */
export function Files({ attachments, label }: { attachments: readonly Attachment[]; label: string }): VNode | null {
  if (attachments.length === 0) return null;
  return (
    <ul class="files" aria-label={label}>
      {attachments.map((attachment) => (
        <li key={attachment.id}>
          <FileLink attachment={attachment} />
        </li>
      ))}
    </ul>
  );
}

function FileLink({ attachment }: { attachment: Attachment }): VNode {
  const { name, size, url } = attachment;
  const href = safeUrl(url ?? "");
  const isShown = href && isImage(attachment);
  const inner = isShown ? (
    <Thumbnail attachment={attachment} />
  ) : (
    <>
      <Icon name="file" size={16} />
      <span class="file-name" dir="auto">
        {name}
      </span>
      <span class="file-size">{sizeOf(size)}</span>
    </>
  );
  return href ? (
    <ExternalLink class={isShown ? "file is-image" : "file"} href={href} title={name}>
      {inner}
    </ExternalLink>
  ) : (
    <span class="file">{inner}</span>
  );
}

function Thumbnail({ attachment: { name, url } }: { attachment: Attachment }): VNode {
  return <img src={url ?? ""} alt={name} loading="lazy" referrerpolicy="no-referrer" />;
}

function isImage({ type }: Attachment): boolean {
  return type.startsWith("image/");
}

function sizeOf(bytes: number): string {
  return bytes < 1_048_576 ? `${Math.ceil(bytes / 1_024)} KB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
}
