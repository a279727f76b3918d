import { decryptSecret, encryptSecret } from "../../crypto/secrets.ts";
import { type Progress, progressSchema } from "./progress.ts";

/**
 * An export's progress as the text that its caller goes on with. Encrypted: a place may be a question that somebody asked,
 * and addresses with cursors in them stand in logs.
 */
export function toCursor(env: Env, workspaceId: string, progress: Progress): Promise<string> {
  return encryptSecret(env, JSON.stringify(progress), placeOf(workspaceId));
}

/** Reads what `toCursor` made for the same workspace; undefined for anything else. */
export async function fromCursor(env: Env, workspaceId: string, cursor: string): Promise<Progress | undefined> {
  try {
    return progressSchema.parse(JSON.parse(await decryptSecret(env, cursor, placeOf(workspaceId))));
  } catch {
    return undefined;
  }
}

function placeOf(workspaceId: string): string {
  return `export/${workspaceId}`;
}
