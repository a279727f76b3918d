import { dirname, join } from "node:path";

/** A fenced code block of a guide. */
export interface CodeBlock {
  /** The guide, relative to the project: "docs/webhooks.md". */
  file: string;
  /** The line of the opening fence, counted from 1. */
  line: number;
  /** What follows the fence: "sh", "ts", "console". */
  language: string;
  /** The name that the reader saves the block under: `title=receiver.mjs`. */
  title: string | undefined;
  /** The HTTP status that the block shows on purpose: `error=404`. */
  error: number | undefined;
  /** The command without which the block is not run: `needs=python3`. */
  needs: string | undefined;
  code: string;
}

const FENCE = /^(`{3,})(.*)\n([^]*?)^\1$/gm;

/** Every fenced code block of a guide, in order. */
export function readBlocks(file: string, markdown: string): CodeBlock[] {
  return [...markdown.matchAll(FENCE)].map(({ index, 2: info, 3: code }) => {
    const [language = "", ...attributes] = info!.trim().split(/\s+/);
    const valueOf = (name: string) => attributes.find((attribute) => attribute.startsWith(`${name}=`))?.slice(name.length + 1);
    const error = valueOf("error");
    return {
      file,
      line: markdown.slice(0, index).split("\n").length,
      language,
      title: valueOf("title"),
      error: error === undefined ? undefined : Number(error),
      needs: valueOf("needs"),
      code: code!,
    };
  });
}

/** A link to another file or heading of the project. */
interface Link {
  line: number;
  target: string;
}

/** The relative links of a guide, without those in code blocks. */
function readLinks(markdown: string): Link[] {
  const prose = markdown.replaceAll(FENCE, (block) => block.replaceAll(/[^\n]/g, ""));
  return targetsIn(prose, /\]\(([^)\s]+)\)/g).filter(({ target }) => !/^\w+:/.test(target));
}

/** The files and folders of the project that a guide names, such as `src/app.ts`, with their lines. */
function readPaths(markdown: string): Link[] {
  return targetsIn(markdown, /`((?:src|test|scripts|bench|client|migrations)\/[\w./-]*)`/g);
}

function targetsIn(text: string, pattern: RegExp): Link[] {
  return [...text.matchAll(pattern)].map(({ index, 1: target }) => ({ line: text.slice(0, index).split("\n").length, target: target! }));
}

/** The anchors of a guide's headings, as GitHub names them. */
function readAnchors(markdown: string): string[] {
  const headings = markdown.replaceAll(FENCE, "").matchAll(/^#+ (.+)$/gm);
  return [...headings].map(({ 1: heading }) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** Each relative link that leads to no file or heading, and each path of the project that is not there. */
export function findBrokenLinks(files: readonly string[], read: (file: string) => string): string[] {
  return files.flatMap((file) => {
    const links = readLinks(read(file)).filter(({ target }) => !leadsSomewhere(file, target, read));
    const paths = readPaths(read(file)).filter(({ target }) => !leadsSomewhere("README.md", target, read));
    return [...links, ...paths].map(({ line, target }) => `${file}:${line} ${target} leads nowhere`);
  });
}

function leadsSomewhere(file: string, target: string, read: (file: string) => string): boolean {
  const [path = "", anchor] = target.split("#");
  const linked = path === "" ? file : join(dirname(file), path);
  try {
    const text = read(linked);
    return anchor === undefined || readAnchors(text).includes(anchor);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EISDIR";
  }
}
