/** A file of a message. */
export interface Attachment {
  id: string;
  name: string;
  type: string;
  size: number;
  url: string | null;
}

/** Why a file cannot be added to a message. */
export type FileProblem = "too_large" | "unsupported" | "too_many" | "failed";

/** The text of a message that has files and no other text: their names. */
export function textOfFiles(files: readonly Pick<Attachment, "name">[]): string {
  return files.map(({ name }) => name).join(", ");
}
