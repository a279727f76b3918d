/**
 * Encodes a body that has a file as a form: files and texts as they are, other values as JSON.
 * @returns undefined for a body without a file. @throws TypeError if a file has no name: it would be called "blob".
 */
export function toForm(body: object): FormData | undefined {
  if (!Object.values(body).some((value) => value instanceof Blob)) return undefined;
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) {
    if (value instanceof Blob && !("name" in value) && !("name" in body))
      throw new TypeError(`The ${name} is a Blob without a name. Send new File([blob], "manual.pdf"), or a name in the body.`);
    if (value instanceof Blob) form.append(name, value);
    else if (value !== undefined) form.append(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return form;
}
