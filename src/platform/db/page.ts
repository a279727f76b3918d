/** A place in a list by time: that of a record. */
export interface Position {
  atMs: number;
  id: string;
}

/** A page of a long list: so many records from an offset, or those that follow a position. */
export interface Page {
  limit: number;
  offset: number;
  cursor?: Position | undefined;
}
