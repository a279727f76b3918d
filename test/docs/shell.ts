/** A curl command as the request that it sends. */
export interface CurlRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
}

/** A word's parts: in single quotes, in double quotes, and bare with escapes. */
const PART = /'([^']*)'|"([^"]*)"|\\([^])|([^\s'"\\]+)/g;
const VALUED = new Set(["-X", "-H", "-d"]);

/**
 * Reads a curl command as a shell would, as far as the samples go: quotes and variables.
 * @throws Error on a variable that is not set, or an option that is not known.
 */
export function readCurl(command: string, variables: Record<string, string>): CurlRequest {
  const [name, ...words] = wordsOf(command.replaceAll("\\\n", " "), variables);
  if (name !== "curl") throw new Error(`Not a curl command: ${command}`);
  const given: [option: string, value: string][] = [];
  let url: string | undefined;
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (VALUED.has(word)) given.push([word, words[++at]!]);
    else if (word.startsWith("-") && word !== "-N") throw new Error(`What is ${word}?`);
    else if (word !== "-N") url = word;
  }
  const of = (option: string) => given.filter(([own]) => own === option).map(([, value]) => value);
  const headers = of("-H").map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);
  const [body] = of("-d");
  return { method: of("-X")[0] ?? (body === undefined ? "GET" : "POST"), url: url!, headers: Object.fromEntries(headers), body };
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
