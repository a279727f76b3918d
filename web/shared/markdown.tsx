import type { Token, Tokens } from "marked";
import { type ComponentChildren, Fragment, type VNode } from "preact";
import { safeUrl } from "./plain-text.ts";

/*
 * Markdown from outside as elements of an allow-list. It is never HTML: HTML in it is shown as text, images become links, and
 * links lead to http, https and mail alone.
 */

/** Headings of a text are below those of the page that it stands in. */
const HEADINGS = ["h3", "h4", "h5", "h6"] as const;
const ALIGNMENTS: Record<string, string> = { left: "start", center: "center", right: "end" };

interface MarkdownProps {
  /** What `lex` of lexer.ts makes of a text. */
  blocks: readonly Token[];
  /** Whether more is to come: then the last block is not formatted inside, so that nothing in it jumps when it is complete. */
  isOpen?: boolean;
  /** What is shown beside a block of code, such as a button that copies it. */
  codeAction?: ((code: string) => ComponentChildren) | undefined;
}

/** A text in Markdown. */
export function Markdown({ blocks, isOpen = false, codeAction }: MarkdownProps): VNode {
  const render: Render = { codeAction };
  return (
    <>
      {blocks.map((token, at) => (
        <Fragment key={at}>{renderBlock(token, render, isOpen && at === blocks.length - 1)}</Fragment>
      ))}
    </>
  );
}

interface Render {
  codeAction: MarkdownProps["codeAction"];
}

function renderBlocks(tokens: Token[] = [], render: Render, isOpen = false): ComponentChildren {
  return tokens.map((token, at) => renderBlock(token, render, isOpen && at === tokens.length - 1));
}

function renderBlock(token: Token, render: Render, isOpen: boolean): ComponentChildren {
  switch (token.type) {
    case "heading": {
      const Heading = HEADINGS[Math.min((token as Tokens.Heading).depth, HEADINGS.length) - 1]!;
      return <Heading>{inlineOf(token, isOpen)}</Heading>;
    }
    case "paragraph":
      return <p>{inlineOf(token, isOpen)}</p>;
    case "text":
      return inlineOf(token, isOpen);
    case "list":
      return renderList(token as Tokens.List, render, isOpen);
    case "blockquote":
      return <blockquote>{renderBlocks((token as Tokens.Blockquote).tokens, render, isOpen)}</blockquote>;
    case "code": {
      const { text } = token as Tokens.Code;
      return (
        <div class="code">
          {render.codeAction?.(text)}
          {/* Long lines are scrolled, by the keyboard too. */}
          <pre tabIndex={0} dir="ltr">
            <code>{text}</code>
          </pre>
        </div>
      );
    }
    case "table":
      return renderTable(token as Tokens.Table);
    case "hr":
      return <hr />;
    default:
      return <p>{token.raw.trim()}</p>;
  }
}

function renderList({ ordered, start, items }: Tokens.List, render: Render, isOpen: boolean): VNode {
  const children = items.map((item, at) => (
    <li key={at} class={item.task ? "task" : undefined}>
      {item.task && (item.checked ? "☑ " : "☐ ")}
      {renderBlocks(
        item.tokens.filter(({ type }) => type !== "checkbox" && type !== "space"),
        render,
        isOpen && at === items.length - 1,
      )}
    </li>
  ));
  return ordered ? <ol start={typeof start === "number" ? start : 1}>{children}</ol> : <ul>{children}</ul>;
}

function renderTable({ header, rows }: Tokens.Table): VNode {
  const style = ({ align }: Tokens.TableCell) => (align ? { textAlign: ALIGNMENTS[align] } : undefined);
  return (
    <div class="table" tabIndex={0} role="group">
      <table>
        <thead>
          <tr>
            {header.map((cell, at) => (
              <th key={at} scope="col" style={style(cell)}>
                {renderInline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column} style={style(cell)}>
                  {renderInline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inlineOf(token: Token, isOpen: boolean): ComponentChildren {
  const { tokens, text } = token as Tokens.Paragraph;
  return isOpen || !tokens ? text : renderInline(tokens);
}

function renderInline(tokens: Token[]): ComponentChildren {
  return tokens.map((token, at) => <Fragment key={at}>{inlineElement(token)}</Fragment>);
}

function inlineElement(token: Token): ComponentChildren {
  switch (token.type) {
    case "strong":
      return <strong>{renderInline((token as Tokens.Strong).tokens)}</strong>;
    case "em":
      return <em>{renderInline((token as Tokens.Em).tokens)}</em>;
    case "del":
      return <del>{renderInline((token as Tokens.Del).tokens)}</del>;
    case "codespan":
      return <code dir="ltr">{decode((token as Tokens.Codespan).text)}</code>;
    case "br":
      return <br />;
    case "link":
      return linkTo((token as Tokens.Link).href, renderInline((token as Tokens.Link).tokens));
    case "image":
      return linkTo((token as Tokens.Image).href, (token as Tokens.Image).text || (token as Tokens.Image).href);
    case "html":
      return token.raw;
    default: {
      const { tokens, text, raw } = token as Tokens.Text;
      return tokens ? renderInline(tokens) : decode(text ?? raw);
    }
  }
}

/** A link that opens in a new tab; the bare text where it leads elsewhere than to a page or to mail. */
function linkTo(href: string, children: ComponentChildren): ComponentChildren {
  const url = safeUrl(href);
  if (url === undefined) return children;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" };

/** Texts of tokens may hold the entities that models write. */
function decode(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => ENTITIES[name]!);
}
