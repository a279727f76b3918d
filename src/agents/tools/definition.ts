import type { Method } from "../../platform/db/columns.ts";

/** Whether a request by this method may change something, so that making it twice is not the same as making it once. */
export function isChanging(method: Method): boolean {
  return method !== "GET";
}

/** Whether parameters that are not in the URL go into a JSON body; else they go into the query. */
export function hasBody(method: Method): boolean {
  return method === "POST" || method === "PUT" || method === "PATCH";
}
