import type { Token, Tokens } from "marked";
import { type ComponentChildren, Fragment, type JSX, type VNode } from "preact";
import { safeUrl } from "./plain-text.ts";

/*
 * Renders Markdown from untrusted authors with allowed elements only. HTML is shown as text, images are shown as links, and only links
 * to http, https and mail addresses are kept.
 */

/** The elements for headings. They begin at h3, below the headings of the page around the text. */
const HEADINGS = ["h3", "h4", "h5", "h6"] as const;
const ALIGNMENTS: Record<string, string> = { left: "start", center: "center", right: "end" };

interface MarkdownProps {
  /** The result of `lex`. */
  blocks: readonly Token[];
  /** Whether the text is still being written. If so, the last block is shown without inline formatting, so that its layout stays stable. */
  isOpen?: boolean;
  /** Renders something beside a block of code, such as a button that copies it. */
  codeAction?: CodeAction;
}

type CodeAction = ((code: string) => ComponentChildren) | undefined;

export function Markdown({ blocks, isOpen = false, codeAction }: MarkdownProps): VNode {
  return <>{renderBlocks(blocks, codeAction, isOpen)}</>;
}

function renderBlocks(tokens: readonly Token[] = [], codeAction: CodeAction, isOpen: boolean): ComponentChildren {
  return tokens.map((token, at) => <Fragment key={at}>{renderBlock(token, codeAction, isOpen && at === tokens.length - 1)}</Fragment>);
}

function renderBlock(token: Token, codeAction: CodeAction, isOpen: boolean): ComponentChildren {
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
      return renderList(token as Tokens.List, codeAction, isOpen);
    case "blockquote":
      return <blockquote>{renderBlocks((token as Tokens.Blockquote).tokens, codeAction, isOpen)}</blockquote>;
    case "code": {
      const { text } = token as Tokens.Code;
      return (
        <div class="code">
          {codeAction?.(text)}
          {/* The block can have the focus, so that long lines can be scrolled with the keyboard. */}
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

function renderList({ ordered, start, items }: Tokens.List, codeAction: CodeAction, isOpen: boolean): VNode {
  const children = items.map((item, at) => (
    <li key={at} class={item.task ? "task" : undefined}>
      {item.task && (item.checked ? "☑ " : "☐ ")}
      {renderBlocks(
        item.tokens.filter(({ type }) => type !== "checkbox" && type !== "space"),
        codeAction,
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
      return <code dir="ltr">{(token as Tokens.Codespan).text}</code>;
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

/** Renders a link that opens in a new tab. If the address is unsafe, it renders only the text. */
function linkTo(href: string, children: ComponentChildren): ComponentChildren {
  const url = safeUrl(href);
  return url === undefined ? children : <ExternalLink href={url}>{children}</ExternalLink>;
}

/** A link that opens in a new tab and sends no referrer. */
export function ExternalLink(props: JSX.IntrinsicElements["a"]): VNode {
  return <a target="_blank" rel="noopener noreferrer nofollow" {...props} />;
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" };

/** Decodes the HTML entities that models write. */
function decode(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => ENTITIES[name]!);
}
