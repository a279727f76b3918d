import type { AppContext } from "../platform/http/context.ts";
import { ApiError, invalid } from "../platform/http/errors.ts";
import { valueError } from "../platform/http/validation.ts";
import { limitReached } from "../workspaces/checks.ts";
import { withAddress } from "./links.ts";
import type { UploadResult } from "./uploads.ts";
import { type Attachment, toAttachment } from "./wire.ts";

/** Returns the wire record of an uploaded file. @throws ApiError if it was not stored. */
export async function toUploaded(c: AppContext, uploaded: UploadResult, nowMs: number): Promise<Attachment> {
  switch (uploaded.outcome) {
    case "uploaded":
      return withAddress(c, toAttachment(uploaded.attachment));
    case "unsupported_type": {
      const problem = valueError("send a JPEG, PNG, WebP or GIF image, a PDF, or a plain text in UTF-8 that does not begin with markup");
      throw invalid([{ loc: ["body", "file"], ...problem, input: null }]);
    }
    case "rate_limited":
      throw limitReached(uploaded.full, nowMs);
    case "no_space":
      throw new ApiError(
        "plan_required",
        "The files of all messages take as much space as the plan allows. Erase old conversations, or ask the operator for a larger plan.",
      );
  }
}
