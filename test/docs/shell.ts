/** The request that a curl command sends. */
export interface CurlRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | FormData | undefined;
}

/** The parts of a word: in single quotes, in double quotes, escaped, and bare. */
const PART = /'([^']*)'|"([^"]*)"|\\([^])|([^\s'"\\]+)/g;
const OPTIONS_WITH_VALUE = new Set(["-X", "-H", "-d", "-F"]);

/**
 * Parses a curl command as a shell does: quotes, escapes and variables.
 * @throws Error on a variable that is not set, or an unknown option.
 */
export function parseCurl(command: string, variables: Record<string, string>): CurlRequest {
  const [name, ...words] = wordsOf(command.replaceAll("\\\n", " "), variables);
  if (name !== "curl") throw new Error(`Not a curl command: ${command}`);
  const given: [option: string, value: string][] = [];
  let url: string | undefined;
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (OPTIONS_WITH_VALUE.has(word)) given.push([word, words[++at]!]);
    else if (word.startsWith("-") && word !== "-N") throw new Error(`Unknown option ${word}`);
    else if (word !== "-N") url = word;
  }
  const valuesOf = (option: string) => given.filter(([own]) => own === option).map(([, value]) => value);
  const headers = valuesOf("-H").map((line): [string, string] => [
    line.slice(0, line.indexOf(":")),
    line.slice(line.indexOf(":") + 1).trim(),
  ]);
  const fields = valuesOf("-F");
  const body = fields.length > 0 ? formOf(fields) : valuesOf("-d")[0];
  return { method: valuesOf("-X")[0] ?? (body === undefined ? "GET" : "POST"), url: url!, headers: Object.fromEntries(headers), body };
}

/** A form as curl makes it; a file holds its own name. */
function formOf(fields: string[]): FormData {
  const form = new FormData();
  for (const field of fields) {
    const [name, value] = [field.slice(0, field.indexOf("=")), field.slice(field.indexOf("=") + 1)];
    if (value.startsWith("@")) form.append(name, new File([value.slice(1)], value.slice(1)));
    else form.append(name, value);
  }
  return form;
}

function wordsOf(command: string, variables: Record<string, string>): string[] {
  const words = command.match(/(?:'[^']*'|"[^"]*"|\\[^]|[^\s'"\\])+/g) ?? [];
  return words.map((word) =>
    word.replaceAll(PART, (_, single?: string, double?: string, escaped?: string, bare?: string) =>
      double === undefined ? (single ?? escaped ?? bare!) : expand(double, variables),
    ),
  );
}

function expand(text: string, variables: Record<string, string>): string {
  return text.replaceAll(/\$(\w+)/g, (_, name: string) => {
    const value = variables[name];
    if (value === undefined) throw new Error(`$${name} is not set`);
    return value;
  });
}
