/** The texts of a form that is submitted, by the names of its fields, without white space around them. */
export function readForm(event: SubmitEvent): (name: string) => string {
  event.preventDefault();
  const data = new FormData(event.currentTarget as HTMLFormElement);
  return (name) => {
    const value = data.get(name);
    return typeof value === "string" ? value.trim() : "";
  };
}
