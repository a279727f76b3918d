/** What fields and parameters mean that mean the same everywhere; others are described where they are declared. */
const DESCRIPTIONS: Record<string, string> = {
  id: "Its identifier.",
  created_at: "When it was created.",
  updated_at: "When it was last changed.",
  workspace_id: "The workspace.",
  agent_id: "The agent.",
  conversation_id: "The conversation.",
  message_id: "The message.",
  source_id: "The source.",
  answer_id: "The curated answer.",
  draft_id: "The draft of a curated answer.",
  evaluation_id: "The evaluation.",
  webhook_id: "The webhook endpoint.",
  delivery_id: "The delivery.",
  event_id: "The event.",
  key_id: "The API key.",
  visitor_id: "The visitor.",
  data: "The records of this page.",
  total: "How many records there are on all pages.",
  limit: "How many records a page holds at most.",
  offset: "How many records come before the page.",
  has_more: "Whether there are records after this page.",
};

interface Described {
  description?: string;
  $ref?: string;
}

interface DocumentedSchema extends Described {
  properties?: Record<string, DocumentedSchema>;
}

interface Parameter extends Described {
  name: string;
  schema: Described;
}

/** Describes the fields and parameters of a document that mean the same everywhere. */
export function describeCommonFields(document: { paths?: Record<string, object> | undefined; components?: { schemas?: object } }): void {
  describeProperties(document.components?.schemas);
  for (const methods of Object.values(document.paths ?? {})) {
    for (const { parameters = [] } of Object.values<{ parameters?: Parameter[] }>({ ...methods })) {
      for (const parameter of parameters) {
        const description = parameter.description ?? parameter.schema.description ?? DESCRIPTIONS[parameter.name];
        if (description !== undefined) parameter.description = description;
      }
    }
  }
}

/** Walks a part of a document, and describes the properties of each schema in it. */
function describeProperties(part: unknown): void {
  if (typeof part !== "object" || part === null) return;
  for (const [name, field] of Object.entries((part as DocumentedSchema).properties ?? {})) {
    const description = DESCRIPTIONS[name];
    if (description !== undefined && field.description === undefined && field.$ref === undefined) field.description = description;
  }
  for (const child of Object.values(part)) describeProperties(child);
}
