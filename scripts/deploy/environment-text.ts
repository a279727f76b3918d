/** The keys whose values are names of the account's resources. */
const NAMED = /\b(queue|dead_letter_queue|database_name|index_name|dataset|bucket_name)(\s*=\s*)(["'])([^"']+)\3/g;
/** The Worker's own name, which is a key of the environment itself. */
const WORKER_NAME = /^(\s*name\s*=\s*)(["'])([^"']+)\2/;
/** Keys that are not copied: the hosts belong to one environment, and the ids of databases are found by their names. */
const OWN_KEY = /^\s*(routes?|workers_dev|database_id|preview_database_id)\s*=/;
const OWN_TABLE = /^routes?$/;
const HEADER = /^\s*\[{1,2}\s*([\w."' -]+?)\s*\]{1,2}\s*(?:#.*)?$/;
const COMMENT = /^\s*#/;

/** Returns the name of a resource in another environment. The environment comes first, because the end of a queue's name is its job. */
function nameIn(environment: string, name: string): string {
  return `${environment}-${name}`;
}

/**
 * Returns the text of a new environment: a copy of another environment's tables in wrangler.toml, in which the resources of the account
 * have new names. It has no routes, because a host belongs to one environment.
 */
export function environmentText(toml: string, from: string, to: string): string {
  const copied: string[] = [];
  /** The comments before the next line. They are copied if that line is copied. */
  let comments: string[] = [];
  let table: string | undefined;
  let openBrackets = 0;
  for (const line of toml.split("\n")) {
    if (openBrackets > 0) {
      openBrackets += bracketsIn(line);
      continue;
    }
    const header = HEADER.exec(line)?.[1];
    if (header !== undefined) {
      table = tableOf(header, from);
      if (table !== undefined) copied.push(...(table === "" ? [] : comments), line.replace(`env.${from}`, `env.${to}`));
    } else if (COMMENT.test(line)) {
      comments.push(line.replace(`env.${from}`, `env.${to}`));
      continue;
    } else if (table !== undefined && OWN_KEY.test(line)) {
      openBrackets = bracketsIn(line);
    } else if (table !== undefined) {
      copied.push(...comments, table === "" ? renameWorker(line, to) : renameResources(line, to));
    }
    comments = [];
  }
  return `\n# --- ${to}: ${from} with names of its own ---\n${copied.join("\n").trimEnd()}\n`;
}

/** Returns the text of wrangler.toml in which a variable of an environment has this value; unchanged if there is no table of variables. */
export function withVariable(toml: string, environment: string, name: string, value: string): string {
  const lines = toml.split("\n");
  const start = lines.findIndex((line) => HEADER.exec(line)?.[1] === `env.${environment}.vars`);
  if (start === -1) return toml;
  const end = lines.findIndex((line, at) => at > start && HEADER.test(line));
  const isSet = new RegExp(`^\\s*${name}\\s*=`);
  const at = lines.findIndex((line, index) => index > start && (end === -1 || index < end) && isSet.test(line));
  if (at === -1) lines.splice(start + 1, 0, `${name} = "${value}"`);
  else lines[at] = `${name} = "${value}"`;
  return lines.join("\n");
}

/** Returns the text of wrangler.toml in which every table of this name is a comment. */
export function withoutTables(toml: string, name: string): string {
  let isInside = false;
  const lines = toml.split("\n").map((line) => {
    const header = HEADER.exec(line)?.[1];
    if (header !== undefined) isInside = header === name;
    return isInside && line.trim() !== "" && !COMMENT.test(line) ? `# ${line}` : line;
  });
  return lines.join("\n");
}

/** The path of a table within an environment, empty for the environment itself; undefined for a table that is not copied. */
function tableOf(header: string, environment: string): string | undefined {
  if (header === `env.${environment}`) return "";
  const prefix = `env.${environment}.`;
  if (!header.startsWith(prefix)) return undefined;
  const path = header.slice(prefix.length);
  return OWN_TABLE.test(path) ? undefined : path;
}

/** How many brackets a line opens beyond those that it closes, outside of strings. */
function bracketsIn(line: string): number {
  const code = line.replace(/"[^"]*"|'[^']*'/g, "").replace(/#.*$/, "");
  return code.split("[").length - code.split("]").length;
}

function renameWorker(line: string, to: string): string {
  return line.replace(WORKER_NAME, (_, key: string, quote: string, name: string) => `${key}${quote}${nameIn(to, name)}${quote}`);
}

function renameResources(line: string, to: string): string {
  return line.replace(NAMED, (_, key: string, equals: string, quote: string, name: string) => {
    // A dataset is a table in SQL.
    const renamed = key === "dataset" ? nameIn(to, name).replaceAll("-", "_") : nameIn(to, name);
    return `${key}${equals}${quote}${renamed}${quote}`;
  });
}
