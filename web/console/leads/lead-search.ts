import { signal } from "@preact/signals";

/** What the list of leads is to be searched for when it is opened next; the list takes it. */
export const leadSearch = signal("");
