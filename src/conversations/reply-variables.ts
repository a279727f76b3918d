/** The variables of saved replies, with what they stand for. */
export const REPLY_VARIABLES = {
  "visitor.name": "the visitor's name",
  "visitor.email": "the visitor's email address",
  "agent.name": "the name of the conversation's agent",
  "member.name": "the name of the member of the team who writes",
  "workspace.name": "the name of the workspace",
} as const;

type ReplyVariable = keyof typeof REPLY_VARIABLES;

/** What is known of a conversation when a reply is inserted. A variable without a value is empty or missing. */
export type ReplyValues = Partial<Record<ReplyVariable, string | null | undefined>>;

const PLACEHOLDER = /\{\{([^{}]{0,100})\}\}/g;

function isVariable(name: string): name is ReplyVariable {
  return Object.hasOwn(REPLY_VARIABLES, name);
}

/** Lists the placeholders of a text that name no variable. */
export function unknownVariables(text: string): string[] {
  const names = [...text.matchAll(PLACEHOLDER)].map(([, name]) => name!.trim());
  return [...new Set(names.filter((name) => !isVariable(name)))];
}

/** Replaces the variables of a text. One without a value keeps its placeholder, as a gap that the writer fills. */
export function fillVariables(text: string, values: ReplyValues): string {
  return text.replaceAll(PLACEHOLDER, (placeholder, inner: string) => {
    const name = inner.trim();
    return isVariable(name) ? values[name]?.trim() || `{{${name}}}` : placeholder;
  });
}

/** Finds the first variable in a text that has no value yet, with its position. */
export function findGap(text: string): { start: number; end: number; placeholder: string } | undefined {
  for (const match of text.matchAll(PLACEHOLDER)) {
    if (isVariable(match[1]!.trim())) return { start: match.index, end: match.index + match[0].length, placeholder: match[0] };
  }
  return undefined;
}
