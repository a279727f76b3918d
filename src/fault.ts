/** An error of ours. Its text is written here and holds nothing but identifiers and numbers, so that the log may show it. */
export class Fault extends Error {
  override name = "Fault";
}
