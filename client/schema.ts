// Written by `npm run client` from the service's OpenAPI document. Do not edit.

/** The records, and the bodies that requests have. */
export interface Schemas {
  EndUser: {
    /** Your stable id for the person. It groups the person's conversations. */
    id: string;
    /** Their name. */
    name?: string | null | undefined;
    /** Their email address. */
    email?: string | null | undefined;
  };
  Visitor: {
    /** Its identifier. */
    id: string;
    /** The id of the visitor in the workspace. For a user of the API, it is `api:` and your id. */
    anon_id: string;
    /** Your id for the person, from the API or a signed identity; null without one. */
    external_id: string | null;
    /** Their name, if known. */
    name: string | null;
    /** Their email address, if known. */
    email: string | null;
    /** Whether the API or a signed identity confirms their identity. */
    verified: boolean;
  };
  Handoff: {
    /** Its identifier. */
    id: string;
    /** The conversation. */
    conversation_id: string;
    /** Why a human is needed. */
    reason: "customer_request" | "missing_knowledge" | "low_confidence" | "unsupported_request" | "tool_failure" | "model_failure" | "approval_required" | "approval_expired";
    /** The visitor's request in a sentence. */
    summary: string | null;
    /** The message that caused the hand-off. */
    trigger_message_id: string | null;
    /** The status: `accepted` once a member of the team has taken the conversation. */
    status: "pending" | "accepted" | "resolved";
    /** When the hand-off was requested. */
    requested_at: string;
    /** When a member of the team took the conversation. */
    accepted_at: string | null;
    /** When the hand-off was resolved. */
    resolved_at: string | null;
    /** Whether it was requested within the business hours. */
    team_open: boolean;
    /** When the team opens next, as seen when it was requested; null within the business hours. */
    opens_at: string | null;
  };
  Csat: {
    /** The score from 1 to 5. */
    score: number;
    /** The visitor's comment. */
    comment: string | null;
  };
  TeamMember: {
    /** Your stable id for the member of the team. */
    id: string;
    /** The member's name. */
    name: string;
  };
  ConversationMatch: {
    /** The latest message or note that matches; null if only the subject or the visitor matches. */
    message_id: string | null;
    /** The text around the match, in parts that are to be joined. */
    snippet: {
      /** Plain text, as it was written. */
      text: string;
      /** Whether this part matches the search. */
      is_match: boolean;
    }[];
  };
  SourceError: {
    /** The code of the error, for programs. */
    code: string;
    /** What went wrong and how to fix it. */
    message: string;
  };
  ContactForm: {
    /** The fields of the form, in their order. */
    fields: {
      /** `name`, `email`, `phone` and `message` are fields of every lead; others are custom fields. */
      name: string;
      /** The label of the field; null for the usual one in the visitor's language. */
      label?: string | null | undefined;
      /** Whether the form cannot be sent without it. */
      required?: boolean | undefined;
      /** The options to choose from; empty for a field that is typed. */
      options?: string[] | undefined;
    }[];
  };
  KeyIntrospection: {
    /** The workspace of the key. */
    workspace: {
      /** Its identifier. */
      id: string;
      /** The name. */
      name: string;
      /** The short name of the workspace, unique in the deployment. */
      slug: string;
    };
    /** The plan of the workspace. */
    plan: "free" | "starter" | "pro" | "enterprise";
    /** The key of this request; for a member, the session. */
    api_key: {
      /** Its identifier. */
      id: string;
      /** The purpose of the key. */
      name: string;
      /** The key's first 16 characters. */
      prefix: string;
      /** The scopes of the key. */
      scopes: ("agents:read" | "agents:write" | "chat:write" | "conversations:read" | "conversations:write" | "leads:read" | "knowledge:read" | "knowledge:write" | "analytics:read" | "webhooks:read" | "webhooks:write" | "privacy:read" | "privacy:write" | "keys:write" | "members:read" | "members:write")[];
    };
    /** The member who is signed in; null for an API key. */
    member: {
      /** Its identifier. */
      id: string;
      /** The name. */
      name: string;
      /** The email address. */
      email: string;
      /** The role. */
      role: "owner" | "admin" | "agent" | "viewer" | "custom";
    } | null;
    /** The rate limit. */
    rate_limit: {
      /** Requests that all keys of the workspace together, and each member in the console, may make in any 60 seconds. */
      requests_per_minute: number;
    };
  };
  Error: {
    /** The error. */
    error: {
      /** The code of the error, for programs. */
      code: "missing_api_key" | "invalid_api_key" | "revoked_api_key" | "quota_exceeded" | "insufficient_scope" | "plan_required" | "not_found" | "method_not_allowed" | "conflict" | "endpoint_disabled" | "idempotency_conflict" | "payload_too_large" | "validation_error" | "rate_limited" | "internal_error" | "unavailable";
      /** What to do about it. */
      message: string;
      /** Present if a question got a 500 or 503 but is stored: it will be answered in this conversation. Without it, the question is not stored. */
      conversation_id?: string | undefined;
      /** The id of the answer that will be written. Resume its stream to read it. */
      message_id?: string | undefined;
      /** Only under /openai: the type of the error, as OpenAI names it. */
      type?: string | undefined;
      /** Only under /openai: the field that is wrong; null if no single field is wrong. */
      param?: string | null | undefined;
      /** Equal to the header X-Request-Id. */
      request_id: string;
    };
  };
  Usage: {
    /** The plan of the workspace. */
    plan: "free" | "starter" | "pro" | "enterprise";
    /** The calendar month, UTC. */
    period: {
      /** The start of the period. */
      start: string;
      /** The start of the next period. */
      end: string;
    };
    limits: Schemas["Limits"];
    /** `sources`, `pages` and `answers` are those of all agents. */
    usage: {
      /** Questions that agents were asked to answer in the period. */
      messages: number;
      /** How often text was masked in the period. */
      redactions: number;
      /** Visitors' messages on this UTC day. */
      visitor_messages_today: number;
      /** Leads on this UTC day. */
      leads_today: number;
      /** Files that visitors uploaded on this UTC day. */
      visitor_attachments_today: number;
      /** Messages that your team wrote on this UTC day. */
      team_messages_today: number;
      /** Cases of the evaluations that were started on this UTC day. */
      evaluation_cases_today: number;
      /** Erasures of persons that were started on this UTC day. */
      erasures_today: number;
      /** Syncs of sources that were requested on this UTC day. */
      syncs_today: number;
      /** Agents now. */
      agents: number;
      /** API keys that are not revoked. */
      api_keys: number;
      /** Members of the team now, invited ones included. */
      members: number;
      /** Knowledge sources now. */
      sources: number;
      /** Indexed pages now. */
      pages: number;
      /** Curated answers now. */
      answers: number;
      /** Megabytes of text of the agent that has the most, as of the last sync of each source. */
      knowledge_mb_per_agent: number;
      /** Deliveries of events to webhook endpoints on this UTC day. */
      deliveries_today: number;
      /** Megabytes of the delivery log now. */
      delivery_log_mb: number;
      /** Megabytes of attachments now. */
      attachments_mb: number;
    };
    /** What the workspace may still use. */
    remaining: {
      /** Questions that are left in the period. */
      messages: number;
    };
  };
  /** The plan's limits, with the operator's changes. */
  Limits: {
    /** Requests of all keys together, and of each member in the console, in any 60 seconds. */
    requests_per_minute: number;
    /** Questions that agents are asked to answer in a calendar month. */
    messages: number;
    /** Messages of one conversation, all authors together. */
    messages_per_conversation: number;
    /** Messages of visitors in a UTC day. Over the API, only those count that do not use the quota, such as those to a human. */
    visitor_messages_per_day: number;
    /** Leads of all agents in a UTC day. */
    leads_per_day: number;
    /** Files that visitors upload in a UTC day. */
    visitor_attachments_per_day: number;
    /** Messages that your team writes in a UTC day. */
    team_messages_per_day: number;
    /** Cases of evaluations in a UTC day. */
    evaluation_cases_per_day: number;
    /** Erasures of persons that are started in a UTC day. */
    erasures_per_day: number;
    /** Syncs of sources that are requested in a UTC day: of new sources and new texts, and at request. Scheduled ones do not count. */
    syncs_per_day: number;
    /** Agents of the workspace. */
    agents: number;
    /** API keys that are not revoked. */
    api_keys: number;
    /** Members of the team, invited ones included. */
    members: number;
    /** Knowledge sources for each agent. */
    sources: number;
    /** The most pages that one website source may read. */
    max_pages: number;
    /** Curated answers of one agent. */
    answers_per_agent: number;
    /** Megabytes of text, extracted from the sources of one agent. */
    knowledge_mb_per_agent: number;
    /** Whether events are sent to webhook endpoints. */
    webhooks: boolean;
    /** Deliveries to webhook endpoints in a UTC day, with tests and redeliveries. Retries do not count. */
    deliveries_per_day: number;
    /** Megabytes of the delivery log. */
    delivery_log_mb: number;
    /** Megabytes of the files that messages carry, with 512 bytes for each file. Visitors may use four fifths of them. */
    attachments_mb: number;
  };
  AgentPage: {
    /** The records of this page. */
    data: Schemas["Agent"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  /** The field instructions and those after it are returned only to keys that also have the scope agents:write. */
  Agent: {
    /** Its identifier. */
    id: string;
    /** The name of the agent, which your team and visitors see. */
    name: string;
    /** The short name of the agent, unique in the workspace. */
    slug: string;
    /** A note for your team about the purpose of the agent. */
    description: string | null;
    /** A paused agent answers no questions. */
    status: "active" | "paused";
    /** A BCP 47 tag: the language of the texts that you do not set. */
    language: string;
    /** The message that visitors see before they write. */
    welcome_message: string;
    /** The message that the visitor gets when a human is needed. If the operator has set none, it depends on the reason and on the visitor's language; this is the one for a question without an answer. */
    handoff_message: string;
    /** Answers with less confidence are handed to a human. */
    confidence_threshold: number;
    /** The channels on which visitors can write to it. */
    channels: ("widget" | "hosted" | "email" | "api" | "playground")[];
    /** The number of knowledge sources of the agent. */
    sources_count: number;
    /** The number of curated answers of the agent. */
    answers_count: number;
    /** When it was created. */
    created_at: string;
    /** When it was last changed. */
    updated_at: string;
    /** Instructions that the model reads before every question, in addition to the knowledge: tone, rules, subjects to avoid. */
    instructions?: string | null | undefined;
    /** The number of minutes without a message after which an answered conversation is resolved. A change applies to a conversation from its next message on. */
    inactivity_minutes?: number | undefined;
    /** The name of the language model at its provider; null for the model of the deployment. */
    model?: string | null | undefined;
    /** Requests to your API, and tools of MCP servers, that the model may call while it answers. */
    tools?: (Schemas["HttpTool"] | Schemas["McpServer"] | Schemas["ClientTool"])[] | undefined;
    /** The websites whose browsers may use the agent, such as https://www.example.com; * for all websites, an empty list for the hosted page only. */
    allowed_origins?: string[] | undefined;
    /** The address of the agent's mailbox. The agent answers the mails that arrive there. Only the operator can set it; null removes it. */
    email_address?: string | null | undefined;
    /** The Turnstile widget that visitors solve before their first message and before they leave contact details; null if there is none. */
    turnstile?: {
      /** The widget's public key. */
      site_key: string;
    } | null | undefined;
    /** Whether your website can verify visitors with a secret of the agent. */
    has_identity_secret?: boolean | undefined;
    appearance?: Schemas["Appearance"] | undefined;
    /** The form that visitors get when nobody can answer; null for no form. */
    contact_form?: Schemas["ContactForm"] | null | undefined;
    /**
     * The languages of the chat, each with texts that replace the usual ones; empty for all languages. If neither the page nor the browser has one of these languages, the chat uses the agent's language, or the first of these.
     *
     * Languages: en, de, fr, es, pt, it, nl, nb, ar. Texts: launcher_label, open_chat, close_chat, chat_with, menu, new_conversation, history, history_empty, back, talk_to_person, answers_by_ai, powered_by, loading, welcome, message_label, message_placeholder, send, characters_left, attach, files, remove_file, uploading, file_too_large, file_unsupported, too_many_files, file_failed, suggestions, messages, you, team, is_writing, sources, copy_code, copied, new_messages, unread_messages, today, yesterday, sending, not_sent, try_again, rate_up, rate_down, rate_reason, rate_thanks, csat_title, csat_1, csat_2, csat_3, csat_4, csat_5, csat_comment, csat_thanks, submit, skip, waiting_title, waiting_text, closed_title, closed_text, human_title, resolved, contact_title, contact_text, contact_open, contact_sent, field_name, field_email, field_phone, field_message, optional, required, invalid_email, invalid_phone, offline, reconnecting, rate_limited, conversation_full, quota_exceeded, paused, unavailable, session_ended, identity_rejected, challenge, challenge_failed, not_loaded.
     */
    languages?: Record<string, Record<string, string>> | undefined;
    /** `off`: the agent never hands a conversation to a human. It says that it has no answer and, if it has a contact form, asks for contact details. Tools that need an approval are then not called. */
    handoff?: "on" | "off" | undefined;
    /** What visitors read instead of a hand-off if `handoff` is off, by language; visitors who write in another language read the usual text. Languages: en, de, fr, es, pt, it, nl, no, sv, da, pl, tr, ar, hi, zh, ja. */
    handoff_off_messages?: Record<string, string> | undefined;
    /** Words and phrases, in any language: a message that has one of them as whole words is handed off. Case, accents and punctuation do not matter. */
    handoff_words?: string[] | undefined;
    hosted_page?: Schemas["HostedPage"] | undefined;
    /** The number of the published version. */
    version?: number | undefined;
    /** The version that is rolled out to a share of new conversations; null if there is none. */
    rollout?: {
      /** The number of the version. */
      version: number;
      /** The share of new conversations that gets it. */
      share: number;
    } | null | undefined;
  };
  HttpTool: {
    /** A request to your API. */
    type: "http";
    /** The name under which the model calls it. */
    name: string;
    /** What the tool does and when to use it, as the model reads it. */
    description: string;
    /** The parameters that the model fills in, as JSON Schema. */
    parameters: Record<string, unknown>;
    /** The method of the request. */
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
    /** The URL of the request. {name} stands for a parameter. */
    url: string;
    /** The names of the headers. Each value is null, because stored values are never shown. */
    headers: Record<string, null>;
    /** Fields that the service adds to the body. */
    body: Record<string, unknown>;
    /** Whether the model gets it only when an API key or a signed identity confirms who the visitor is. */
    requires_verified_visitor: boolean;
    /** Whether a member of the team approves each call that may change something. */
    requires_approval: boolean;
    /** How long a response may take. */
    timeout_seconds: number;
  };
  McpServer: {
    /** A server of the Model Context Protocol. */
    type: "mcp";
    /** The beginning of the names under which the model calls its tools. */
    name: string;
    /** The URL of its Streamable HTTP endpoint. */
    url: string;
    /** The names of the headers. Each value is null, because stored values are never shown. */
    headers: Record<string, null>;
    /** The names of the tools that the model may call; null for all that the server had when it was saved. */
    allowed_tools: string[] | null;
    /** Whether the model gets them only when an API key or a signed identity confirms who the visitor is. */
    requires_verified_visitor: boolean;
    /** Whether a member of the team approves each call that may change something. */
    requires_approval: boolean;
    /** How long a call may take. */
    timeout_seconds: number;
    /** The tools of the server, as they were when the server was saved. */
    tools: {
      /** The name of the tool on the server. */
      name: string;
      /** The description of the tool for the model. */
      description: string;
      /** The parameters that the model fills in, as JSON Schema. */
      parameters: Record<string, unknown>;
      /** Whether the server says that it changes nothing: such a call may be repeated. */
      read_only: boolean;
    }[];
    /** `changed` if the server has changed a tool. Its tools are not called until the server is saved again. */
    status: "ready" | "changed";
    /** What has changed; null if the status is ready. */
    problem: string | null;
  };
  ClientTool: {
    /** A function that your own program or page runs. */
    type: "client";
    /** The name under which the model calls it. */
    name: string;
    /** What the tool does and when to use it, as the model reads it. */
    description: string;
    /** The parameters that the model fills in, as JSON Schema. */
    parameters: Record<string, unknown>;
    /** server: your program that asks the agent over the API. browser: the page that shows the widget, where a visitor can read and change what the tool does. */
    runs_in: "server" | "browser";
  };
  /** How the chat looks. */
  Appearance: {
    /** The colour of the launcher, the buttons and the visitor's messages. Text on it is black or white. */
    accent: string;
    /** The corner of the launcher and its panel. */
    position: "right" | "left";
    /** An icon, an icon with a text, or nothing: the page then opens the chat by `SupportAgent("open")`. */
    launcher: "icon" | "label" | "hidden";
    /** A headline above the welcome message. */
    greeting: string | null;
    /** Questions that a visitor can ask by a click. */
    suggestions: string[];
    /** `auto` follows the setting of the visitor's system. */
    theme: "auto" | "light" | "dark";
    /** Whether the chat names this service. */
    show_branding: boolean;
  };
  /** The chat as a page of its own. */
  HostedPage: {
    /** Whether the page /chat/{agent_id} exists. */
    enabled: boolean;
    /** Whether search engines may index it. */
    indexed: boolean;
  };
  ValidationError: Schemas["Error"] & {
    /** Every failed check. */
    detail: Schemas["ValidationItem"][];
  };
  ValidationItem: {
    /** The place of the problem: body, query or path, followed by the names of the fields. */
    loc: (string | number)[];
    /** The problem. */
    msg: string;
    /** The kind of error, as Pydantic v2 names it. */
    type: string;
    /** The value that was sent. */
    input?: unknown | undefined;
    /** The bounds or choices of the check. */
    ctx?: Record<string, unknown> | undefined;
  };
  AgentSettings: {
    /** Its identifier. */
    id: string;
    /** The name of the agent, which your team and visitors see. */
    name: string;
    /** The short name of the agent, unique in the workspace. */
    slug: string;
    /** A note for your team about the purpose of the agent. */
    description: string | null;
    /** A paused agent answers no questions. */
    status: "active" | "paused";
    /** A BCP 47 tag: the language of the texts that you do not set. */
    language: string;
    /** The message that visitors see before they write. */
    welcome_message: string;
    /** The message that the visitor gets when a human is needed. If the operator has set none, it depends on the reason and on the visitor's language; this is the one for a question without an answer. */
    handoff_message: string;
    /** Answers with less confidence are handed to a human. */
    confidence_threshold: number;
    /** The channels on which visitors can write to it. */
    channels: ("widget" | "hosted" | "email" | "api" | "playground")[];
    /** The number of knowledge sources of the agent. */
    sources_count: number;
    /** The number of curated answers of the agent. */
    answers_count: number;
    /** When it was created. */
    created_at: string;
    /** When it was last changed. */
    updated_at: string;
    /** Instructions that the model reads before every question, in addition to the knowledge: tone, rules, subjects to avoid. */
    instructions: string | null;
    /** The number of minutes without a message after which an answered conversation is resolved. A change applies to a conversation from its next message on. */
    inactivity_minutes: number;
    /** The name of the language model at its provider; null for the model of the deployment. */
    model: string | null;
    /** Requests to your API, and tools of MCP servers, that the model may call while it answers. */
    tools: (Schemas["HttpTool"] | Schemas["McpServer"] | Schemas["ClientTool"])[];
    /** The websites whose browsers may use the agent, such as https://www.example.com; * for all websites, an empty list for the hosted page only. */
    allowed_origins: string[];
    /** The address of the agent's mailbox. The agent answers the mails that arrive there. Only the operator can set it; null removes it. */
    email_address: string | null;
    /** The Turnstile widget that visitors solve before their first message and before they leave contact details; null if there is none. */
    turnstile: {
      /** The widget's public key. */
      site_key: string;
    } | null;
    /** Whether your website can verify visitors with a secret of the agent. */
    has_identity_secret: boolean;
    appearance: Schemas["Appearance"];
    /** The form that visitors get when nobody can answer; null for no form. */
    contact_form: Schemas["ContactForm"] | null;
    /**
     * The languages of the chat, each with texts that replace the usual ones; empty for all languages. If neither the page nor the browser has one of these languages, the chat uses the agent's language, or the first of these.
     *
     * Languages: en, de, fr, es, pt, it, nl, nb, ar. Texts: launcher_label, open_chat, close_chat, chat_with, menu, new_conversation, history, history_empty, back, talk_to_person, answers_by_ai, powered_by, loading, welcome, message_label, message_placeholder, send, characters_left, attach, files, remove_file, uploading, file_too_large, file_unsupported, too_many_files, file_failed, suggestions, messages, you, team, is_writing, sources, copy_code, copied, new_messages, unread_messages, today, yesterday, sending, not_sent, try_again, rate_up, rate_down, rate_reason, rate_thanks, csat_title, csat_1, csat_2, csat_3, csat_4, csat_5, csat_comment, csat_thanks, submit, skip, waiting_title, waiting_text, closed_title, closed_text, human_title, resolved, contact_title, contact_text, contact_open, contact_sent, field_name, field_email, field_phone, field_message, optional, required, invalid_email, invalid_phone, offline, reconnecting, rate_limited, conversation_full, quota_exceeded, paused, unavailable, session_ended, identity_rejected, challenge, challenge_failed, not_loaded.
     */
    languages: Record<string, Record<string, string>>;
    /** `off`: the agent never hands a conversation to a human. It says that it has no answer and, if it has a contact form, asks for contact details. Tools that need an approval are then not called. */
    handoff: "on" | "off";
    /** What visitors read instead of a hand-off if `handoff` is off, by language; visitors who write in another language read the usual text. Languages: en, de, fr, es, pt, it, nl, no, sv, da, pl, tr, ar, hi, zh, ja. */
    handoff_off_messages: Record<string, string>;
    /** Words and phrases, in any language: a message that has one of them as whole words is handed off. Case, accents and punctuation do not matter. */
    handoff_words: string[];
    hosted_page: Schemas["HostedPage"];
    /** The number of the published version. */
    version: number;
    /** The version that is rolled out to a share of new conversations; null if there is none. */
    rollout: {
      /** The number of the version. */
      version: number;
      /** The share of new conversations that gets it. */
      share: number;
    } | null;
  };
  AgentCreate: {
    /** The name of the agent, which your team and visitors see. */
    name: string;
    /** A short name, unique in the workspace. The default is made from the name. */
    slug?: string | undefined;
    /** A note for your team about the purpose of the agent. */
    description?: string | null | undefined;
    /** The language of the texts that you do not set, as a BCP 47 tag such as en or pt-BR. Answers are in the visitor's language. */
    language?: string | undefined;
    /** What visitors read before they write. */
    welcome_message?: string | undefined;
    /** What visitors read when a human is needed, for every reason and in every language. */
    handoff_message?: string | undefined;
    /** The number of minutes without a message after which an answered conversation is resolved. A change applies to a conversation from its next message on. */
    inactivity_minutes?: number | undefined;
    /** A paused agent answers no questions. */
    status?: "active" | "paused" | undefined;
    /** Instructions that the model reads before every question, in addition to the knowledge: tone, rules, subjects to avoid. */
    instructions?: string | null | undefined;
    /** 0 to 1: answers with less confidence are handed to a human. */
    confidence_threshold?: number | undefined;
    /** The name of the language model at its provider; null for the model of the deployment. */
    model?: string | null | undefined;
    /** Requests to your API, and tools of MCP servers, that the model may call while it answers. */
    tools?: ({
      /** A request to your API, which is the default. */
      type?: "http" | undefined;
      /** The name under which the model calls it: lower-case letters, digits and _. */
      name: string;
      /** What the tool does and when to use it, as the model reads it. */
      description: string;
      /** The parameters that the model fills in: a JSON Schema (2020-12) of type object, without references. */
      parameters?: Record<string, unknown> | undefined;
      /** The method of the request. */
      method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
      /** The URL of the request. {name} stands for a parameter. */
      url: string;
      /** Headers of the request, stored encrypted. null keeps a stored value. */
      headers?: Record<string, string | null> | undefined;
      /** Fields that the service adds to the body, such as {visitor.external_id}. */
      body?: Record<string, unknown> | undefined;
      /** Whether the model gets it only when an API key or a signed identity confirms who the visitor is. If it is left out, it is false for GET and true for every other method. */
      requires_verified_visitor?: boolean | undefined;
      /** Whether a member of the team approves each call before it is made. A server's tools that only read need no approval. */
      requires_approval?: boolean | undefined;
      /** How long a response may take. */
      timeout_seconds?: number | undefined;
    } | {
      /** A server of the Model Context Protocol, whose tools the model may call. */
      type: "mcp";
      /** The beginning of the names under which the model calls its tools. */
      name: string;
      /** The URL of its Streamable HTTP endpoint. */
      url: string;
      /** Headers of each request, stored encrypted. null keeps a stored value. */
      headers?: Record<string, string | null> | undefined;
      /** The names of the tools that the model may call; null for all that the server has now. */
      allowed_tools?: string[] | null | undefined;
      /** Whether the model gets it only when an API key or a signed identity confirms who the visitor is. If it is left out, it is false if the server marks all allowed tools as read-only, and true otherwise. */
      requires_verified_visitor?: boolean | undefined;
      /** Whether a member of the team approves each call before it is made. A server's tools that only read need no approval. */
      requires_approval?: boolean | undefined;
      /** How long a response may take. */
      timeout_seconds?: number | undefined;
      /** Read only. */
      tools?: unknown | undefined;
      /** Read only. */
      status?: unknown | undefined;
      /** Read only. */
      problem?: unknown | undefined;
    } | {
      /** A function that your own program or page runs. The answer waits for its result. */
      type: "client";
      /** The name under which the model calls it: lower-case letters, digits and _. */
      name: string;
      /** What the tool does and when to use it, as the model reads it. */
      description: string;
      /** The parameters that the model fills in: a JSON Schema (2020-12) of type object, without references. */
      parameters?: Record<string, unknown> | undefined;
      /** server: your program that asks the agent over the API. browser: the page that shows the widget, where a visitor can read and change what the tool does. */
      runs_in?: "server" | "browser" | undefined;
    })[] | undefined;
    /** The websites whose browsers may use the agent, such as https://www.example.com; * for all websites, an empty list for the hosted page only. */
    allowed_origins?: string[] | undefined;
    /** The address of the agent's mailbox. The agent answers the mails that arrive there. Only the operator can set it; null removes it. */
    email_address?: string | null | undefined;
    /** The Turnstile widget that visitors solve before their first message and before they leave contact details; null if there is none. */
    turnstile?: {
      /** The widget's public key. */
      site_key: string;
      /** The widget's secret key, which is never shown again. */
      secret: string;
    } | null | undefined;
    /** How the chat looks. */
    appearance?: {
      /** The colour of the launcher, the buttons and the visitor's messages. Text on it is black or white. */
      accent?: string | undefined;
      /** The corner of the launcher and its panel. */
      position?: "right" | "left" | undefined;
      /** An icon, an icon with a text, or nothing: the page then opens the chat by `SupportAgent("open")`. */
      launcher?: "icon" | "label" | "hidden" | undefined;
      /** A headline above the welcome message. */
      greeting?: string | null | undefined;
      /** Questions that a visitor can ask by a click. */
      suggestions?: string[] | undefined;
      /** `auto` follows the setting of the visitor's system. */
      theme?: "auto" | "light" | "dark" | undefined;
      /** Whether the chat names this service. */
      show_branding?: boolean | undefined;
    } | undefined;
    /** The form that visitors get when nobody can answer; null for no form. */
    contact_form?: Schemas["ContactForm"] | null | undefined;
    /**
     * The languages of the chat, each with texts that replace the usual ones; empty for all languages. If neither the page nor the browser has one of these languages, the chat uses the agent's language, or the first of these.
     *
     * Languages: en, de, fr, es, pt, it, nl, nb, ar. Texts: launcher_label, open_chat, close_chat, chat_with, menu, new_conversation, history, history_empty, back, talk_to_person, answers_by_ai, powered_by, loading, welcome, message_label, message_placeholder, send, characters_left, attach, files, remove_file, uploading, file_too_large, file_unsupported, too_many_files, file_failed, suggestions, messages, you, team, is_writing, sources, copy_code, copied, new_messages, unread_messages, today, yesterday, sending, not_sent, try_again, rate_up, rate_down, rate_reason, rate_thanks, csat_title, csat_1, csat_2, csat_3, csat_4, csat_5, csat_comment, csat_thanks, submit, skip, waiting_title, waiting_text, closed_title, closed_text, human_title, resolved, contact_title, contact_text, contact_open, contact_sent, field_name, field_email, field_phone, field_message, optional, required, invalid_email, invalid_phone, offline, reconnecting, rate_limited, conversation_full, quota_exceeded, paused, unavailable, session_ended, identity_rejected, challenge, challenge_failed, not_loaded.
     */
    languages?: Record<string, Record<string, string>> | undefined;
    /** The chat as a page of its own. */
    hosted_page?: {
      /** Whether the page /chat/{agent_id} exists. */
      enabled?: boolean | undefined;
      /** Whether search engines may index it. */
      indexed?: boolean | undefined;
    } | undefined;
    /** `off`: the agent never hands a conversation to a human. It says that it has no answer and, if it has a contact form, asks for contact details. Tools that need an approval are then not called. */
    handoff?: "on" | "off" | undefined;
    /** What visitors read instead of a hand-off if `handoff` is off, by language; visitors who write in another language read the usual text. Languages: en, de, fr, es, pt, it, nl, no, sv, da, pl, tr, ar, hi, zh, ja. */
    handoff_off_messages?: Record<string, string> | undefined;
    /** Words and phrases, in any language: a message that has one of them as whole words is handed off. Case, accents and punctuation do not matter. */
    handoff_words?: string[] | undefined;
  };
  /** Fields that are left out stay unchanged. */
  AgentUpdate: {
    /** The name of the agent, which your team and visitors see. */
    name?: string | undefined;
    /** A short name, unique in the workspace. The default is made from the name. */
    slug?: string | undefined;
    /** A note for your team about the purpose of the agent. */
    description?: string | null | undefined;
    /** The language of the texts that you do not set, as a BCP 47 tag such as en or pt-BR. Answers are in the visitor's language. */
    language?: string | undefined;
    /** What visitors read before they write. */
    welcome_message?: string | undefined;
    /** What visitors read when a human is needed, for every reason and in every language. */
    handoff_message?: string | undefined;
    /** The number of minutes without a message after which an answered conversation is resolved. A change applies to a conversation from its next message on. */
    inactivity_minutes?: number | undefined;
    /** A paused agent answers no questions. */
    status?: "active" | "paused" | undefined;
    /** Instructions that the model reads before every question, in addition to the knowledge: tone, rules, subjects to avoid. */
    instructions?: string | null | undefined;
    /** 0 to 1: answers with less confidence are handed to a human. */
    confidence_threshold?: number | undefined;
    /** The name of the language model at its provider; null for the model of the deployment. */
    model?: string | null | undefined;
    /** Requests to your API, and tools of MCP servers, that the model may call while it answers. */
    tools?: ({
      /** A request to your API, which is the default. */
      type?: "http" | undefined;
      /** The name under which the model calls it: lower-case letters, digits and _. */
      name: string;
      /** What the tool does and when to use it, as the model reads it. */
      description: string;
      /** The parameters that the model fills in: a JSON Schema (2020-12) of type object, without references. */
      parameters?: Record<string, unknown> | undefined;
      /** The method of the request. */
      method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
      /** The URL of the request. {name} stands for a parameter. */
      url: string;
      /** Headers of the request, stored encrypted. null keeps a stored value. */
      headers?: Record<string, string | null> | undefined;
      /** Fields that the service adds to the body, such as {visitor.external_id}. */
      body?: Record<string, unknown> | undefined;
      /** Whether the model gets it only when an API key or a signed identity confirms who the visitor is. If it is left out, it is false for GET and true for every other method. */
      requires_verified_visitor?: boolean | undefined;
      /** Whether a member of the team approves each call before it is made. A server's tools that only read need no approval. */
      requires_approval?: boolean | undefined;
      /** How long a response may take. */
      timeout_seconds?: number | undefined;
    } | {
      /** A server of the Model Context Protocol, whose tools the model may call. */
      type: "mcp";
      /** The beginning of the names under which the model calls its tools. */
      name: string;
      /** The URL of its Streamable HTTP endpoint. */
      url: string;
      /** Headers of each request, stored encrypted. null keeps a stored value. */
      headers?: Record<string, string | null> | undefined;
      /** The names of the tools that the model may call; null for all that the server has now. */
      allowed_tools?: string[] | null | undefined;
      /** Whether the model gets it only when an API key or a signed identity confirms who the visitor is. If it is left out, it is false if the server marks all allowed tools as read-only, and true otherwise. */
      requires_verified_visitor?: boolean | undefined;
      /** Whether a member of the team approves each call before it is made. A server's tools that only read need no approval. */
      requires_approval?: boolean | undefined;
      /** How long a response may take. */
      timeout_seconds?: number | undefined;
      /** Read only. */
      tools?: unknown | undefined;
      /** Read only. */
      status?: unknown | undefined;
      /** Read only. */
      problem?: unknown | undefined;
    } | {
      /** A function that your own program or page runs. The answer waits for its result. */
      type: "client";
      /** The name under which the model calls it: lower-case letters, digits and _. */
      name: string;
      /** What the tool does and when to use it, as the model reads it. */
      description: string;
      /** The parameters that the model fills in: a JSON Schema (2020-12) of type object, without references. */
      parameters?: Record<string, unknown> | undefined;
      /** server: your program that asks the agent over the API. browser: the page that shows the widget, where a visitor can read and change what the tool does. */
      runs_in?: "server" | "browser" | undefined;
    })[] | undefined;
    /** The websites whose browsers may use the agent, such as https://www.example.com; * for all websites, an empty list for the hosted page only. */
    allowed_origins?: string[] | undefined;
    /** The address of the agent's mailbox. The agent answers the mails that arrive there. Only the operator can set it; null removes it. */
    email_address?: string | null | undefined;
    /** The Turnstile widget that visitors solve before their first message and before they leave contact details; null if there is none. */
    turnstile?: {
      /** The widget's public key. */
      site_key: string;
      /** The widget's secret key, which is never shown again. */
      secret: string;
    } | null | undefined;
    /** How the chat looks. */
    appearance?: {
      /** The colour of the launcher, the buttons and the visitor's messages. Text on it is black or white. */
      accent?: string | undefined;
      /** The corner of the launcher and its panel. */
      position?: "right" | "left" | undefined;
      /** An icon, an icon with a text, or nothing: the page then opens the chat by `SupportAgent("open")`. */
      launcher?: "icon" | "label" | "hidden" | undefined;
      /** A headline above the welcome message. */
      greeting?: string | null | undefined;
      /** Questions that a visitor can ask by a click. */
      suggestions?: string[] | undefined;
      /** `auto` follows the setting of the visitor's system. */
      theme?: "auto" | "light" | "dark" | undefined;
      /** Whether the chat names this service. */
      show_branding?: boolean | undefined;
    } | undefined;
    /** The form that visitors get when nobody can answer; null for no form. */
    contact_form?: Schemas["ContactForm"] | null | undefined;
    /**
     * The languages of the chat, each with texts that replace the usual ones; empty for all languages. If neither the page nor the browser has one of these languages, the chat uses the agent's language, or the first of these.
     *
     * Languages: en, de, fr, es, pt, it, nl, nb, ar. Texts: launcher_label, open_chat, close_chat, chat_with, menu, new_conversation, history, history_empty, back, talk_to_person, answers_by_ai, powered_by, loading, welcome, message_label, message_placeholder, send, characters_left, attach, files, remove_file, uploading, file_too_large, file_unsupported, too_many_files, file_failed, suggestions, messages, you, team, is_writing, sources, copy_code, copied, new_messages, unread_messages, today, yesterday, sending, not_sent, try_again, rate_up, rate_down, rate_reason, rate_thanks, csat_title, csat_1, csat_2, csat_3, csat_4, csat_5, csat_comment, csat_thanks, submit, skip, waiting_title, waiting_text, closed_title, closed_text, human_title, resolved, contact_title, contact_text, contact_open, contact_sent, field_name, field_email, field_phone, field_message, optional, required, invalid_email, invalid_phone, offline, reconnecting, rate_limited, conversation_full, quota_exceeded, paused, unavailable, session_ended, identity_rejected, challenge, challenge_failed, not_loaded.
     */
    languages?: Record<string, Record<string, string>> | undefined;
    /** The chat as a page of its own. */
    hosted_page?: {
      /** Whether the page /chat/{agent_id} exists. */
      enabled?: boolean | undefined;
      /** Whether search engines may index it. */
      indexed?: boolean | undefined;
    } | undefined;
    /** `off`: the agent never hands a conversation to a human. It says that it has no answer and, if it has a contact form, asks for contact details. Tools that need an approval are then not called. */
    handoff?: "on" | "off" | undefined;
    /** What visitors read instead of a hand-off if `handoff` is off, by language; visitors who write in another language read the usual text. Languages: en, de, fr, es, pt, it, nl, no, sv, da, pl, tr, ar, hi, zh, ja. */
    handoff_off_messages?: Record<string, string> | undefined;
    /** Words and phrases, in any language: a message that has one of them as whole words is handed off. Case, accents and punctuation do not matter. */
    handoff_words?: string[] | undefined;
  };
  IdentitySecret: {
    /** The secret that signs visitors' identities. It is shown only here. */
    secret: string;
    /** When the previous secret becomes invalid; null if there is none. */
    previous_valid_until: string | null;
  };
  IdentitySecretRotation: {
    /** Whether the previous secret and all tokens of the agent's visitors become invalid at once. Use it after a leak. */
    revoke?: boolean | undefined;
  };
  AgentVersionPage: {
    /** The records of this page. */
    data: Schemas["AgentVersion"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  AgentVersion: {
    /** The number of the version, from 1; null for the draft. */
    number: number | null;
    /** `published` for the version that answers, `rolling_out` for one that a share of new conversations gets, `superseded` for the others. */
    status: "draft" | "published" | "rolling_out" | "superseded";
    /** The share of new conversations that gets it while it is rolled out; otherwise null. */
    share: number | null;
    /** What its author wrote about it. */
    note: string | null;
    /** Who made it; null if it is older than versions, and for a draft without changes. */
    author: {
      /** Whether a member, an API key or the operator made it. */
      type: "member" | "key" | "operator";
      /** The id of the member or key; null for the operator. */
      id: string | null;
      /** The name of the member or key; null for the operator. */
      name: string | null;
    } | null;
    /** The version that was published when this one was made; null for the first. */
    base: number | null;
    /** The settings in which it differs from that version. */
    changed_fields: ("language" | "instructions" | "welcome_message" | "handoff_message" | "confidence_threshold" | "model" | "tools" | "languages" | "handoff" | "handoff_off_messages" | "handoff_words")[];
    /** When it was made, or the draft last changed; null for a draft without changes. */
    created_at: string | null;
  };
  AgentVersionWithSettings: Schemas["AgentVersion"] & {
    /** All settings of the version. */
    settings: {
      /** A BCP 47 tag: the language of the texts that you do not set. */
      language: string;
      /** Instructions that the model reads before every question, in addition to the knowledge: tone, rules, subjects to avoid. */
      instructions: string | null;
      /** The message that visitors see before they write. */
      welcome_message: string;
      /** The message that the visitor gets when a human is needed. If the operator has set none, it depends on the reason and on the visitor's language; this is the one for a question without an answer. */
      handoff_message: string;
      /** Answers with less confidence are handed to a human. */
      confidence_threshold: number;
      /** The name of the language model at its provider; null for the model of the deployment. */
      model: string | null;
      /** Requests to your API, and tools of MCP servers, that the model may call while it answers. */
      tools: (Schemas["HttpTool"] | Schemas["McpServer"] | Schemas["ClientTool"])[];
      /**
       * The languages of the chat, each with texts that replace the usual ones; empty for all languages. If neither the page nor the browser has one of these languages, the chat uses the agent's language, or the first of these.
       *
       * Languages: en, de, fr, es, pt, it, nl, nb, ar. Texts: launcher_label, open_chat, close_chat, chat_with, menu, new_conversation, history, history_empty, back, talk_to_person, answers_by_ai, powered_by, loading, welcome, message_label, message_placeholder, send, characters_left, attach, files, remove_file, uploading, file_too_large, file_unsupported, too_many_files, file_failed, suggestions, messages, you, team, is_writing, sources, copy_code, copied, new_messages, unread_messages, today, yesterday, sending, not_sent, try_again, rate_up, rate_down, rate_reason, rate_thanks, csat_title, csat_1, csat_2, csat_3, csat_4, csat_5, csat_comment, csat_thanks, submit, skip, waiting_title, waiting_text, closed_title, closed_text, human_title, resolved, contact_title, contact_text, contact_open, contact_sent, field_name, field_email, field_phone, field_message, optional, required, invalid_email, invalid_phone, offline, reconnecting, rate_limited, conversation_full, quota_exceeded, paused, unavailable, session_ended, identity_rejected, challenge, challenge_failed, not_loaded.
       */
      languages: Record<string, Record<string, string>>;
      /** `off`: the agent never hands a conversation to a human. It says that it has no answer and, if it has a contact form, asks for contact details. Tools that need an approval are then not called. */
      handoff: "on" | "off";
      /** What visitors read instead of a hand-off if `handoff` is off, by language; visitors who write in another language read the usual text. Languages: en, de, fr, es, pt, it, nl, no, sv, da, pl, tr, ar, hi, zh, ja. */
      handoff_off_messages: Record<string, string>;
      /** Words and phrases, in any language: a message that has one of them as whole words is handed off. Case, accents and punctuation do not matter. */
      handoff_words: string[];
    };
    /** How its settings differ from those of the version `base`; null if that is not kept any more. */
    differences: {
      /** The setting. */
      field: "language" | "instructions" | "welcome_message" | "handoff_message" | "confidence_threshold" | "model" | "tools" | "languages" | "handoff" | "handoff_off_messages" | "handoff_words";
      /** Its value in the version `base`. */
      before?: unknown | undefined;
      /** Its value in this version. */
      after?: unknown | undefined;
    }[] | null;
  };
  /** Fields that are left out stay unchanged. */
  AgentDraftUpdate: {
    /** The language of the texts that you do not set, as a BCP 47 tag such as en or pt-BR. Answers are in the visitor's language. */
    language?: string | undefined;
    /** Instructions that the model reads before every question, in addition to the knowledge: tone, rules, subjects to avoid. */
    instructions?: string | null | undefined;
    /** What visitors read before they write. */
    welcome_message?: string | undefined;
    /** What visitors read when a human is needed, for every reason and in every language. */
    handoff_message?: string | undefined;
    /** 0 to 1: answers with less confidence are handed to a human. */
    confidence_threshold?: number | undefined;
    /** The name of the language model at its provider; null for the model of the deployment. */
    model?: string | null | undefined;
    /** Requests to your API, and tools of MCP servers, that the model may call while it answers. */
    tools?: ({
      /** A request to your API, which is the default. */
      type?: "http" | undefined;
      /** The name under which the model calls it: lower-case letters, digits and _. */
      name: string;
      /** What the tool does and when to use it, as the model reads it. */
      description: string;
      /** The parameters that the model fills in: a JSON Schema (2020-12) of type object, without references. */
      parameters?: Record<string, unknown> | undefined;
      /** The method of the request. */
      method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
      /** The URL of the request. {name} stands for a parameter. */
      url: string;
      /** Headers of the request, stored encrypted. null keeps a stored value. */
      headers?: Record<string, string | null> | undefined;
      /** Fields that the service adds to the body, such as {visitor.external_id}. */
      body?: Record<string, unknown> | undefined;
      /** Whether the model gets it only when an API key or a signed identity confirms who the visitor is. If it is left out, it is false for GET and true for every other method. */
      requires_verified_visitor?: boolean | undefined;
      /** Whether a member of the team approves each call before it is made. A server's tools that only read need no approval. */
      requires_approval?: boolean | undefined;
      /** How long a response may take. */
      timeout_seconds?: number | undefined;
    } | {
      /** A server of the Model Context Protocol, whose tools the model may call. */
      type: "mcp";
      /** The beginning of the names under which the model calls its tools. */
      name: string;
      /** The URL of its Streamable HTTP endpoint. */
      url: string;
      /** Headers of each request, stored encrypted. null keeps a stored value. */
      headers?: Record<string, string | null> | undefined;
      /** The names of the tools that the model may call; null for all that the server has now. */
      allowed_tools?: string[] | null | undefined;
      /** Whether the model gets it only when an API key or a signed identity confirms who the visitor is. If it is left out, it is false if the server marks all allowed tools as read-only, and true otherwise. */
      requires_verified_visitor?: boolean | undefined;
      /** Whether a member of the team approves each call before it is made. A server's tools that only read need no approval. */
      requires_approval?: boolean | undefined;
      /** How long a response may take. */
      timeout_seconds?: number | undefined;
      /** Read only. */
      tools?: unknown | undefined;
      /** Read only. */
      status?: unknown | undefined;
      /** Read only. */
      problem?: unknown | undefined;
    } | {
      /** A function that your own program or page runs. The answer waits for its result. */
      type: "client";
      /** The name under which the model calls it: lower-case letters, digits and _. */
      name: string;
      /** What the tool does and when to use it, as the model reads it. */
      description: string;
      /** The parameters that the model fills in: a JSON Schema (2020-12) of type object, without references. */
      parameters?: Record<string, unknown> | undefined;
      /** server: your program that asks the agent over the API. browser: the page that shows the widget, where a visitor can read and change what the tool does. */
      runs_in?: "server" | "browser" | undefined;
    })[] | undefined;
    /**
     * The languages of the chat, each with texts that replace the usual ones; empty for all languages. If neither the page nor the browser has one of these languages, the chat uses the agent's language, or the first of these.
     *
     * Languages: en, de, fr, es, pt, it, nl, nb, ar. Texts: launcher_label, open_chat, close_chat, chat_with, menu, new_conversation, history, history_empty, back, talk_to_person, answers_by_ai, powered_by, loading, welcome, message_label, message_placeholder, send, characters_left, attach, files, remove_file, uploading, file_too_large, file_unsupported, too_many_files, file_failed, suggestions, messages, you, team, is_writing, sources, copy_code, copied, new_messages, unread_messages, today, yesterday, sending, not_sent, try_again, rate_up, rate_down, rate_reason, rate_thanks, csat_title, csat_1, csat_2, csat_3, csat_4, csat_5, csat_comment, csat_thanks, submit, skip, waiting_title, waiting_text, closed_title, closed_text, human_title, resolved, contact_title, contact_text, contact_open, contact_sent, field_name, field_email, field_phone, field_message, optional, required, invalid_email, invalid_phone, offline, reconnecting, rate_limited, conversation_full, quota_exceeded, paused, unavailable, session_ended, identity_rejected, challenge, challenge_failed, not_loaded.
     */
    languages?: Record<string, Record<string, string>> | undefined;
    /** `off`: the agent never hands a conversation to a human. It says that it has no answer and, if it has a contact form, asks for contact details. Tools that need an approval are then not called. */
    handoff?: "on" | "off" | undefined;
    /** What visitors read instead of a hand-off if `handoff` is off, by language; visitors who write in another language read the usual text. Languages: en, de, fr, es, pt, it, nl, no, sv, da, pl, tr, ar, hi, zh, ja. */
    handoff_off_messages?: Record<string, string> | undefined;
    /** Words and phrases, in any language: a message that has one of them as whole words is handed off. Case, accents and punctuation do not matter. */
    handoff_words?: string[] | undefined;
  };
  AgentPublication: {
    /** What has changed, for your team. */
    note?: string | null | undefined;
    /** The share of new conversations that gets the version, from 0 to 1. It replaces a version that is rolled out already. Leave it out to publish the version to everybody. */
    rollout?: number | undefined;
  };
  AgentRollout: {
    /** The share of new conversations that gets the version, from 0 to 1. */
    share?: number | undefined;
    /** `keep` publishes the version to everybody, `drop` gives all conversations back to the published version. */
    end?: "keep" | "drop" | undefined;
  };
  AgentRestoration: {
    /** What has changed, for your team. */
    note?: string | null | undefined;
  };
  ToolTest: {
    /** refused: nothing was sent, because the arguments do not fit. failed: the other side failed, or did not answer in time. */
    outcome: "answered" | "refused" | "failed";
    /** The HTTP status of an answer, if there is one. */
    status: number | null;
    /** The text that the model would read. */
    text: string;
    /** The duration of the call. */
    duration_ms: number;
  };
  ToolTestIn: {
    /** The arguments that a model would send, by the names of the tool's parameters. */
    arguments?: Record<string, unknown> | undefined;
    /** The visitor for whom the tool is called. Tools that use a variable of the visitor need it. */
    visitor?: {
      /** Your id of the visitor. */
      external_id?: string | null | undefined;
      /** Their email address. */
      email?: string | null | undefined;
    } | null | undefined;
  };
  MemberPage: {
    /** The records of this page. */
    data: Schemas["Member"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  Member: {
    /** Its identifier. */
    id: string;
    /** The name, which visitors see at replies. */
    name: string;
    /** The email address, in lower case. */
    email: string;
    /** `owner` may do everything; `admin` everything except with owners; `agent` answers conversations; `viewer` only reads; `custom` has the scopes in `scopes`. */
    role: "owner" | "admin" | "agent" | "viewer" | "custom";
    /** The scopes that the role gives. */
    scopes: ("agents:read" | "agents:write" | "chat:write" | "conversations:read" | "conversations:write" | "leads:read" | "knowledge:read" | "knowledge:write" | "analytics:read" | "webhooks:read" | "webhooks:write" | "privacy:read" | "privacy:write" | "keys:write" | "members:read" | "members:write")[];
    /** `invited` until the member has signed in for the first time. */
    status: "invited" | "active" | "removed";
    /** Whether the member takes conversations now. */
    availability: "available" | "away";
    /** The teams that the member is in. */
    team_ids: string[];
    /** When it was created. */
    created_at: string;
    /** When it was last changed. */
    updated_at: string;
  };
  InvitedMember: Schemas["Member"] & {
    invitation: Schemas["Invitation"];
  };
  /** How the member signs in for the first time. */
  Invitation: {
    /** The link that signs the member in once, to pass on. It is shown only here. Null if it was mailed. */
    url: string | null;
    /** Until when the link works. */
    expires_at: string;
  };
  MemberCreate: {
    /** The name, which visitors see at replies. */
    name?: string | undefined;
    /** `owner` may do everything; `admin` everything except with owners; `agent` answers conversations; `viewer` only reads; `custom` has the scopes in `scopes`. */
    role: "owner" | "admin" | "agent" | "viewer" | "custom";
    /** The scopes of the role `custom`; only for that role. */
    scopes?: ("agents:read" | "agents:write" | "chat:write" | "conversations:read" | "conversations:write" | "leads:read" | "knowledge:read" | "knowledge:write" | "analytics:read" | "webhooks:read" | "webhooks:write" | "privacy:read" | "privacy:write" | "keys:write" | "members:read" | "members:write")[] | undefined;
    /** The email address. */
    email: string;
    /** Whether the link is mailed to the member, if the service sends mail. Otherwise the response has it. */
    mail?: boolean | undefined;
  };
  InvitationRenew: {
    /** Whether the link is mailed to the member, if the service sends mail. Otherwise the response has it. */
    mail?: boolean | undefined;
  };
  /** Fields that are left out stay unchanged. */
  MemberUpdate: {
    /** The name, which visitors see at replies. */
    name?: string | undefined;
    /** `owner` may do everything; `admin` everything except with owners; `agent` answers conversations; `viewer` only reads; `custom` has the scopes in `scopes`. */
    role?: "owner" | "admin" | "agent" | "viewer" | "custom" | undefined;
    /** The scopes of the role `custom`; only for that role. */
    scopes?: ("agents:read" | "agents:write" | "chat:write" | "conversations:read" | "conversations:write" | "leads:read" | "knowledge:read" | "knowledge:write" | "analytics:read" | "webhooks:read" | "webhooks:write" | "privacy:read" | "privacy:write" | "keys:write" | "members:read" | "members:write")[] | undefined;
    /** Whether the member takes conversations now. */
    availability?: "available" | "away" | undefined;
  };
  MemberSessionPage: {
    /** The records of this page. */
    data: Schemas["MemberSession"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  MemberSession: {
    /** Its identifier. */
    id: string;
    /** How the member signed in. */
    method: "invitation" | "mail" | "oidc" | "access";
    /** The browser, by its User-Agent. */
    client: string | null;
    /** Whether this request uses it. */
    is_current: boolean;
    /** When it was created. */
    created_at: string;
    /** When it ends by itself. */
    expires_at: string;
  };
  ConnectedApplicationPage: {
    /** The records of this page. */
    data: Schemas["ConnectedApplication"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  ConnectedApplication: {
    /** Its identifier. */
    id: string;
    /** The name that the application gives itself. */
    name: string;
    /** The host that receives the access. */
    host: string;
    /** What the member allowed. It has effect as far as the member's role has these scopes. */
    scopes: ("agents:read" | "agents:write" | "chat:write" | "conversations:read" | "conversations:write" | "leads:read" | "knowledge:read" | "knowledge:write" | "analytics:read" | "webhooks:read" | "webhooks:write" | "privacy:read" | "privacy:write" | "keys:write" | "members:read" | "members:write")[];
    /** When it was created. */
    created_at: string;
    /** When it is disconnected, unless the application is used before. */
    expires_at: string;
  };
  SignInSettings: {
    /** How people sign in to the console: with an account of the provider (`oidc`), through Cloudflare Access (`access`), with a link in a mail (`mail`), or with an API key (`key`). Links of invitations always work. */
    methods: ("oidc" | "access" | "mail" | "key")[];
    /** The OpenID Connect provider; null if there is none. */
    oidc: {
      /** The provider's issuer. */
      issuer: string;
      /** The id of this service's client at the provider. */
      client_id: string;
      /** Whether a secret of the client is stored. It is never shown. */
      has_client_secret: boolean;
    } | null;
    /** Who joins by signing in with a verified email address, without an invitation. */
    domains: {
      /** The domain of the email address, without its subdomains. */
      domain: string;
      /** The role of those who join. Owners are only invited. */
      role: "admin" | "agent" | "viewer";
    }[];
    /** The redirect URL to register at the provider. */
    redirect_url: string;
    /** The methods that can be allowed. `access` and `mail` need a configuration by the operator. */
    available_methods: ("oidc" | "access" | "mail" | "key")[];
    /** When the settings were changed last; null if they never were. */
    updated_at: string | null;
  };
  /** Fields that are left out stay unchanged. */
  SignInSettingsUpdate: {
    /** How people sign in to the console: with an account of the provider (`oidc`), through Cloudflare Access (`access`), with a link in a mail (`mail`), or with an API key (`key`). Links of invitations always work. */
    methods?: ("oidc" | "access" | "mail" | "key")[] | undefined;
    /** The OpenID Connect provider; null removes it. Only owners change it. */
    oidc?: {
      /** The provider's issuer, as its discovery document states it. */
      issuer: string;
      /** The id of this service's client at the provider. */
      client_id: string;
      /** The secret of the client. If it is left out, the stored one stays, unless issuer or client_id change. Null for a public client. */
      client_secret?: string | null | undefined;
    } | null | undefined;
    /** Who joins by signing in with a verified email address, without an invitation. */
    domains?: {
      /** The domain of the email address, without its subdomains. */
      domain: string;
      /** The role of those who join. Owners are only invited. */
      role: "admin" | "agent" | "viewer";
    }[] | undefined;
  };
  AuditLogPage: Schemas["AuditLogPageBase"] & {
    /** Null on the last page. */
    next_cursor: string | null;
  };
  AuditLogEntry: {
    /** Its identifier. */
    id: string;
    /** Who did it. */
    actor: {
      /** Whether a member, an API key or the operator did it. */
      type: "member" | "key" | "operator";
      /** The id of the member or key; null for the operator. */
      id: string | null;
      /** The present name; null for the operator. */
      name: string | null;
    };
    /** What was done. */
    action: "agent.created" | "agent.updated" | "agent.deleted" | "agent.published" | "agent.rolled_back" | "agent.rollout_changed" | "agent.identity_secret_rotated" | "key.created" | "key.revoked" | "member.invited" | "member.joined" | "member.updated" | "member.removed" | "member.signed_in" | "member.session_ended" | "application.connected" | "application.disconnected" | "sign_in.updated" | "team.created" | "team.updated" | "team.deleted" | "routing_rule.created" | "routing_rule.updated" | "routing_rule.deleted" | "webhook.created" | "webhook.updated" | "webhook.deleted" | "webhook.secret_rotated" | "privacy.export" | "privacy.erase";
    /** The id of the agent, key, member or webhook endpoint that it is about. */
    target_id: string | null;
    /** Its present name; null if it does not exist any more. */
    target_name: string | null;
    /** More about it, such as the names of the changed fields. It contains no values of settings. */
    detail: Record<string, unknown>;
    /** When it was created. */
    created_at: string;
  };
  AuditLogPageBase: {
    /** The records of this page. */
    data: Schemas["AuditLogEntry"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  KeyPage: {
    /** The records of this page. */
    data: Schemas["Key"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  Key: {
    /** Its identifier. */
    id: string;
    /** The purpose of the key. */
    name: string;
    /** The first 16 characters of the key, by which you can recognize it. */
    prefix: string;
    /** The scopes of the key. */
    scopes: ("agents:read" | "agents:write" | "chat:write" | "conversations:read" | "conversations:write" | "leads:read" | "knowledge:read" | "knowledge:write" | "analytics:read" | "webhooks:read" | "webhooks:write" | "privacy:read" | "privacy:write" | "keys:write" | "members:read" | "members:write")[];
    /** When it was created. */
    created_at: string;
    /** When the key was revoked; null while it is valid. */
    revoked_at: string | null;
  };
  NewKey: Schemas["Key"] & {
    /** The API key. It is shown only here. */
    key: string;
  };
  KeyCreate: {
    /** The purpose of the key. */
    name: string;
    /** The scopes of the key; * for all scopes, including those of later versions. */
    scopes: ("agents:read" | "agents:write" | "chat:write" | "conversations:read" | "conversations:write" | "leads:read" | "knowledge:read" | "knowledge:write" | "analytics:read" | "webhooks:read" | "webhooks:write" | "privacy:read" | "privacy:write" | "keys:write" | "members:read" | "members:write" | "*")[];
  };
  ChatAnswer: {
    /** The answer of the agent, or the hand-off message; empty while a human has the conversation. It is null only with a `required_action`. */
    answer: string | null;
    /** The sources of the answer; empty with a hand-off. */
    citations: Schemas["Citation"][];
    /** How likely the answer is right, from 0 to 1. */
    confidence: number;
    /** Whether a human is needed. The conversation then waits for one, except in the playground. */
    needs_human: boolean;
    /** The conversation. */
    conversation_id: string;
    /** The agent's message; null while a human has the conversation, because the agent then says nothing. */
    message_id: string | null;
    /** The status of the conversation after the answer. */
    status: "open" | "ai_handled" | "needs_human" | "human_active" | "resolved";
    /** Why a human is needed; null if no human is needed, or if the team took the conversation itself. */
    handoff_reason: "customer_request" | "missing_knowledge" | "low_confidence" | "unsupported_request" | "tool_failure" | "model_failure" | "approval_required" | "approval_expired" | null;
    /** Calls of client tools, for whose results the answer waits: run them, and send the results. null in all other cases. */
    required_action: Schemas["RequiredAction"] | null;
  };
  Citation: {
    /** The title of the page or text, with the heading above the passage. */
    title: string;
    /** The page; null for a text or a curated answer. */
    url: string | null;
    /** The source, or the curated answer, that it came from. */
    source_id: string;
    /** What kind of source it is. */
    type: "page" | "text" | "answer";
    /** The beginning of the passage. */
    snippet: string;
    /** How well the passage fits the question, from 0 to 1. */
    score: number;
  };
  RequiredAction: {
    /** The time until which the results are awaited. Then a human gets the question. */
    expires_at: string;
    /** The calls. The results of all of them are sent together. */
    tool_calls: Schemas["ToolCall"][];
  };
  ToolCall: {
    /** The id of the call, with which its result is sent. */
    id: string;
    /** The name of the tool. */
    name: string;
    /** The arguments, which fit the tool's parameters. */
    arguments: Record<string, unknown>;
  };
  /**
   * Server-Sent Events, each with an `id` and one line of JSON:
   *
   * - `start` {conversation_id, message_id}: the question is stored and will be answered. If it is sent again after a reconnection, the answer starts over: discard the earlier text. `message_id` is null if a human has the conversation; `done` then follows without a `delta`.
   * - `delta` {text}: the next part of the answer. All parts joined are the answer.
   * - `tool_call` {id, name, arguments}: a client tool to run. `done` then has the `required_action`, and the stream of the results starts over with the answer.
   * - `done`: the whole answer, as without streaming. It is the last event.
   * - `error` {error: {code, message, request_id}}: the service failed. It is the last event of this response.
   *
   * A comment every 15 seconds keeps the connection open. A client that disconnects does not stop the answer.
   *
   * With `Accept: text/event-stream; profile=ai-sdk` the events are a UI message stream of the AI SDK instead.
   */
  ChatEvents: string;
  ChatIn: {
    /** The question. */
    message: string;
    /** The conversation to continue, which must have the same channel. Leave it out to start a new one. */
    conversation_id?: string | null | undefined;
    /** The person who asks. Leave it out if the person is unknown. */
    user?: Schemas["EndUser"] | null | undefined;
    /** The default is `api`. `playground` is for trying the agent out: the conversation never waits for a human, contact details are not kept as a lead, and a question that the agent cannot answer does not count as a gap. */
    channel?: "api" | "playground" | undefined;
    /** Restricts the search to sources and curated answers whose `metadata` contain, for each of these keys, this value or one of these values. */
    filter?: Record<string, string | string[]> | null | undefined;
    /** The ids of uploaded files that the message carries. A file belongs to one message. */
    attachments?: string[] | null | undefined;
    /** Settings to try out. They replace the agent's settings for this answer, and are not saved. They need the channel `playground` and the scope `agents:write`. */
    settings?: {
      /** Instructions that the model reads before every question, in addition to the knowledge: tone, rules, subjects to avoid. */
      instructions?: string | null | undefined;
      /** 0 to 1: answers with less confidence are handed to a human. */
      confidence_threshold?: number | undefined;
      /** The name of the language model at its provider; null for the model of the deployment. */
      model?: string | null | undefined;
    } | null | undefined;
    /** The names of the agent's client tools that you run; the others are not called. By default all that run in your program, and none in the playground. */
    client_tools?: string[] | null | undefined;
    /** `draft` for an answer by the draft of the agent. It needs the scope `agents:write`. */
    version?: "draft" | undefined;
    /** Whether the answer is streamed as Server-Sent Events. */
    stream?: boolean | undefined;
  };
  ToolResultsIn: {
    /** The results of all calls of `required_action`. */
    results: Schemas["ToolResult"][];
    /** Whether the answer is streamed as Server-Sent Events. */
    stream?: boolean | undefined;
  };
  ToolResult: {
    /** The id of the call. */
    tool_call_id: string;
    /** The result as text or JSON, as the model reads it. */
    content?: string | undefined;
    /** Why there is no result. The model then tries again or does without it. */
    error?: string | undefined;
  };
  Trace: {
    /** The message. */
    message_id: string;
    /** The conversation. */
    conversation_id: string;
    /** The agent. */
    agent_id: string;
    /** The version of the agent that answered, 0 for its draft; null if the answer is older than versions. */
    agent_version: number | null;
    /** When it was created. */
    created_at: string;
    /** The settings that the question replaced for this answer; empty if it replaced none. */
    changed_settings: ("instructions" | "confidence_threshold" | "model")[];
    decision: Schemas["TraceDecision"];
    /** The searches in the knowledge. */
    searches: Schemas["TraceSearch"][];
    /** Each call of the model, in order; none for a curated answer. */
    model_calls: Schemas["TraceModelCall"][];
    /** Each call of a tool, in order. */
    tool_calls: Schemas["TraceToolCall"][];
    /** The time from the question to the answer. */
    duration_ms: number;
  };
  /** The decision and its reason. */
  TraceDecision: {
    /** Whether the question was answered or handed to a human. */
    outcome: "answered" | "handed_off";
    /** The reason of the answer (a curated answer matched, or the confidence reached the threshold) or of the hand-off. */
    reason: "curated_answer" | "confident" | "customer_request" | "missing_knowledge" | "low_confidence" | "unsupported_request" | "tool_failure" | "model_failure" | "approval_required" | "approval_expired";
    /** The reason as a sentence. */
    explanation: string;
    /** How likely the answer is right, from 0 to 1. */
    confidence: number;
    /** The confidence_threshold at that time. */
    threshold: number;
  };
  TraceSearch: {
    /** Whether the search was for the question, or was a tool call of the model. */
    by: "question" | "tool";
    /** The query of the search. */
    query: string;
    /** The previous question, if this one was understood only together with it; otherwise null. */
    previous_question: string | null;
    /** The language in which the query was analysed. */
    language: string;
    /** The words that were searched for, in their basic form. */
    terms: string[];
    /** The passages that were found, best first. */
    passages: Schemas["TracePassage"][];
    /** The curated answers with similar questions, best first. */
    answers: {
      /** The curated answer. */
      answer_id: string;
      /** The curated question. */
      question: string;
      /** How similar the questions are, from 0 to 1. */
      score: number;
      /** Whether the curated answer was given. */
      is_cited: boolean;
    }[];
    /** How long it took. */
    duration_ms: number;
  };
  TracePassage: {
    /** The source. */
    source_id: string;
    /** The kind of its source. */
    type: "page" | "text";
    /** The title of the page or text. */
    title: string;
    /** The heading above the passage; null without one. */
    heading: string | null;
    /** The page's address. */
    url: string | null;
    /** The beginning of the passage. */
    content: string;
    /** How well the passage fits, from 0 to 1. `scores` has the parts of this score. */
    score: number;
    /** The parts of the score. */
    scores: {
      /** The score of its words; null if it was not found by its words. */
      lexical: number | null;
      /** The score of its meaning; null if it was not found by its meaning, or if its language is searched by words only. */
      semantic: number | null;
      /** The score by the reranker, which replaces the other scores; null without a reranker. */
      reranker: number | null;
    };
    /** Whether the answer cites the passage. */
    is_cited: boolean;
  };
  TraceModelCall: {
    /** The model, by its server's name. `extractive` quotes the knowledge and is no language model. */
    model: string;
    /** The tokens that the model read. Null if the server does not report them. */
    input_tokens: number | null;
    /** The tokens that the model wrote. Null if the server does not report them. */
    output_tokens: number | null;
    /** Why the model stopped; null if it failed, or if the service stopped it after it had read enough. */
    finish: string | null;
    /** How the model failed; null if it did not fail. */
    failure: string | null;
    /** The time until the model began to write; null if it did not write. */
    first_token_ms: number | null;
    /** How long it took. */
    duration_ms: number;
  };
  TraceToolCall: {
    /** The tool. */
    name: string;
    /** The arguments that the model gave, as JSON. They never contain headers, variables and other secrets of the request. */
    arguments: string;
    /** `answered`: the tool responded. `refused`: it was not called, or did nothing. `failed`: the call failed. `handed_off`: the call handed the conversation to a human. */
    outcome: "answered" | "refused" | "failed" | "handed_off";
    /** Why the call was refused or failed. */
    note: string | null;
    /** The HTTP status of its response. */
    status: number | null;
    /** How many characters of its response the model read. The response itself is not stored, because it may contain secrets. */
    response_length: number | null;
    /** How long it took. */
    duration_ms: number;
  };
  ChatCompletion: {
    /** The sources of the answer; empty with a hand-off. */
    citations: Schemas["Citation"][];
    /** How likely the answer is right, from 0 to 1. */
    confidence: number;
    /** Whether a human is needed. The conversation then waits for one, except in the playground. */
    needs_human: boolean;
    /** The conversation. */
    conversation_id: string;
    /** The agent's message; null while a human has the conversation, because the agent then says nothing. */
    message_id: string | null;
    /** The status of the conversation after the answer. */
    status: "open" | "ai_handled" | "needs_human" | "human_active" | "resolved";
    /** Why a human is needed; null if no human is needed, or if the team took the conversation itself. */
    handoff_reason: "customer_request" | "missing_knowledge" | "low_confidence" | "unsupported_request" | "tool_failure" | "model_failure" | "approval_required" | "approval_expired" | null;
    /** Calls of client tools, for whose results the answer waits: run them, and send the results. null in all other cases. */
    required_action: Schemas["RequiredAction"] | null;
    /** The completion's identifier. */
    id: string;
    /** The type of the object. */
    object: "chat.completion";
    /** The time of creation in Unix seconds. */
    created: number;
    /** The id of the agent. */
    model: string;
    /** A list with one answer. */
    choices: {
      /** Always 0. */
      index: number;
      /** The answer. */
      message: {
        /** The author of the message. */
        role: "assistant";
        /** The answer of the agent, or the hand-off message; empty while a human has the conversation. It is null only with a `required_action`. */
        content: string | null;
        /** Calls of client tools, whose results the agent waits for. Left out where there are none. */
        tool_calls?: {
          /** The id of the call, with which its result is sent. */
          id: string;
          /** The type of the call. */
          type: "function";
          /** The tool and its arguments. */
          function: {
            /** The name of the tool. */
            name: string;
            /** The arguments as JSON. */
            arguments: string;
          };
        }[] | undefined;
        /** Always null, because a refusal is sent as an answer. */
        refusal: null;
      };
      /** Always null. */
      logprobs: null;
      /** `tool_calls` if the answer waits for tools; otherwise `stop`, even if the question is handed to a human. */
      finish_reason: "stop" | "tool_calls";
    }[];
    /** The usage in tokens, which is always 0, because the service counts messages. */
    usage: {
      /** Always 0. */
      prompt_tokens: number;
      /** Always 0. */
      completion_tokens: number;
      /** Always 0. */
      total_tokens: number;
    };
  };
  /** Server-Sent Events with the chunks of OpenAI's API, and `[DONE]` at the end. The first chunk has `conversation_id` and `message_id`. The chunk with `finish_reason` also has the other fields of ChatAnswer. If the answer fails, a chunk with `error` is sent. */
  ChatCompletionChunks: string;
  ChatCompletionIn: {
    /** The agent's id or slug. */
    model: string;
    /** The messages of the conversation. The last one is the user's question, with at most 2,000 characters, or the last ones are the results of tool calls. */
    messages: Schemas["ChatCompletionMessage"][];
    /** Whether the answer is streamed as Server-Sent Events. */
    stream?: boolean | null | undefined;
    /** Options of a streamed answer. */
    stream_options?: {
      /** Whether a chunk with the usage is sent before the end. */
      include_usage?: boolean | null | undefined;
    } | null | undefined;
    /** Values for which OpenAI has no parameter. */
    metadata?: {
      /** The conversation to continue. Without it, a new one begins. */
      conversation_id?: string | null | undefined;
    } | null | undefined;
    /** Your stable id for the person. It groups the person's conversations. */
    user?: string | null | undefined;
    /** Restricts the search to sources and curated answers whose `metadata` contain, for each of these keys, this value or one of these values. */
    filter?: Record<string, string | string[]> | null | undefined;
    /** The only accepted value is 1. */
    n?: unknown | undefined;
    /** Has no effect, because an agent has its own tools. It calls those of type `client` as `tool_calls`. */
    tools?: unknown[] | null | undefined;
    /** Only an empty list is accepted, because an agent has its own tools. */
    functions?: unknown | undefined;
    /** Only text is accepted. */
    response_format?: unknown | undefined;
    /** Only text is accepted. */
    modalities?: unknown | undefined;
  };
  ChatCompletionMessage: {
    /** The author of the message; `tool` for the result of a tool call. `system` and `developer` are ignored, because the agent has its own instructions. */
    role: "user" | "assistant" | "system" | "developer" | "tool";
    /** The text of the message. */
    content?: string | {
      /** Only text is accepted. */
      type: "text";
      /** The text. */
      text: string;
    }[] | null | undefined;
    /** The id of the tool call, for its result. */
    tool_call_id?: string | undefined;
  };
  ModelList: {
    /** The type of the object. */
    object: "list";
    /** The active agents, oldest first. */
    data: {
      /** The agent's id, which is the `model` of a request. */
      id: string;
      /** The type of the object. */
      object: "model";
      /** The time of creation in Unix seconds. */
      created: number;
      /** The workspace. */
      owned_by: string;
      /** The agent's name. */
      name: string;
    }[];
  };
  ConversationPage: Schemas["ConversationPageBase"] & {
    /** Null on the last page. */
    next_cursor: string | null;
  };
  ListedConversation: Schemas["Conversation"] & {
    /** Who wrote the latest message: `user` is the visitor, `assistant` the agent, `human` the team and `system` the service. */
    last_message_role: "user" | "assistant" | "human" | "system" | null;
    /** The beginning of the visitor's last message while the status is `needs_human`; otherwise null. */
    question_preview: string | null;
    /** The text that matches `q`; null without a search. */
    match: Schemas["ConversationMatch"] | null;
  };
  Conversation: {
    /** Its identifier. */
    id: string;
    /** The agent. */
    agent_id: string;
    /** The channel on which the visitor writes. */
    channel: "widget" | "hosted" | "email" | "api" | "playground";
    /** `open` before the first answer, `ai_handled` after an answer, `needs_human` while it waits for the team, `human_active` while the team handles it, or `resolved`. */
    status: "open" | "ai_handled" | "needs_human" | "human_active" | "resolved";
    /** The beginning of the first message, or the subject of a mail. */
    subject: string | null;
    /** Your team's tags. */
    tags: string[];
    /** The member of the team to whom it is assigned. */
    assignee: Schemas["TeamMember"] | null;
    /** The team that has it; null without one. */
    team_id: string | null;
    /** How urgent it is, as your team or a routing rule has set it. */
    priority: "low" | "normal" | "high" | "urgent";
    /** The visitor; null after their erasure. */
    visitor: Schemas["Visitor"] | null;
    /** The number of its messages, without notes. */
    message_count: number;
    /** How many messages of the visitor the team has not read. Messages count from the one that caused the hand-off. A reply or a new status marks them as read. */
    unread_count: number;
    /** Until when it is hidden from the lists of waiting conversations. A time in the past has no effect. */
    snoozed_until: string | null;
    /** The beginning of the latest message. */
    last_message_preview: string | null;
    /** The time of the latest message. */
    last_message_at: string;
    /** The latest hand-off to a human. */
    handoff: Schemas["Handoff"] | null;
    /** The visitor's rating; null without one. */
    csat: Schemas["Csat"] | null;
    /** When the conversation was resolved; null if it is not resolved. */
    resolved_at: string | null;
    /** Who resolved the conversation. `auto` means that it was resolved because it was idle. */
    resolved_by: "ai" | "human" | "api" | "auto" | null;
    /** When a member of the team first replied. */
    first_human_reply_at: string | null;
    /** How often the visitor wrote again after it was resolved. */
    reopened_count: number;
    /** When it was created. */
    created_at: string;
    /** When it was last changed. */
    updated_at: string;
  };
  ConversationPageBase: {
    /** The records of this page. */
    data: Schemas["ListedConversation"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  ConversationWithMessages: Schemas["Conversation"] & {
    /** The latest 100 messages, oldest first, with the team's notes between them. */
    messages: Schemas["Message"][];
    /** Whether there are earlier messages: see `GET …/messages`. */
    has_more_messages: boolean;
    /** Whether the team is there now, by the business hours. */
    team_open: boolean;
    /** When the team opens next; null while it is there. */
    opens_at: string | null;
  };
  Message: {
    /** Its identifier. */
    id: string;
    /** The conversation. */
    conversation_id: string;
    /** `user` is the visitor, `human` the team. A `note` is for the team only: visitors and models never see it. */
    role: "user" | "assistant" | "human" | "system" | "note";
    /** The author of the message. */
    author: {
      /** The kind of author. */
      type: "visitor" | "agent" | "member" | "system";
      /** The visitor, the agent or the member of the team; null if unknown. */
      id: string | null;
      /** Their name, if known. */
      name: string | null;
    };
    /** The text. */
    content: string;
    /** The sources of an answer. */
    citations: Schemas["Citation"][];
    /** The files of the message, at most 5. */
    attachments: Schemas["Attachment"][];
    /** How likely an answer is right, from 0 to 1; null for other messages. */
    confidence: number | null;
    /** Whether the message hands the conversation to a human. */
    needs_human: boolean;
    /** The version of the agent that answered, 0 for its draft; null for other messages. */
    agent_version: number | null;
    /** When it was created. */
    created_at: string;
  };
  Attachment: {
    /** Its identifier. */
    id: string;
    /** The name of the file. */
    name: string;
    /** The type of the file, as its content shows. */
    type: "image/jpeg" | "image/png" | "image/webp" | "image/gif" | "application/pdf" | "text/plain";
    /** The size of the file in bytes. */
    size: number;
    /** A signed address of the file, which needs no key; null in events. */
    url: string | null;
    /** When the address ends; null in events. */
    expires_at: string | null;
  };
  NoteIn: {
    /** The text that your team reads. */
    content: string;
    /** The member of the team who writes. */
    author?: {
      /** Your stable id for the member of the team. */
      id: string;
      /** The member's name. */
      name: string;
    } | null | undefined;
  };
  Feedback: {
    /** Its identifier. */
    id: string;
    /** The agent. */
    agent_id: string;
    /** The conversation. */
    conversation_id: string;
    /** The message. */
    message_id: string;
    /** `visitor`, or the id of the member or API key that rated. */
    author: string;
    /** Whether the answer helped. */
    rating: "up" | "down";
    /** A comment on the rating. */
    comment: string | null;
    /** When it was created. */
    created_at: string;
    /** When it was last changed. */
    updated_at: string;
  };
  FeedbackIn: {
    /** Whether the answer helped. */
    rating: "up" | "down";
    /** A comment on the rating. */
    comment?: string | null | undefined;
  };
  FeedbackPage: Schemas["FeedbackPageBase"] & {
    /** Null on the last page. */
    next_cursor: string | null;
  };
  FeedbackPageBase: {
    /** The records of this page. */
    data: Schemas["Feedback"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  MessagePage: Schemas["MessagePageBase"] & {
    /** Null on the last page. */
    next_cursor: string | null;
  };
  MessagePageBase: {
    /** The records of this page. */
    data: Schemas["Message"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  ConversationIn: {
    /** The agent that answers once the conversation is resolved or its status is set to open. A mail is sent from its mailbox. */
    agent_id: string;
    /** The channel on which the person reads the message. */
    channel: "email" | "api";
    /** The recipient of the mail, which the channel email needs. */
    to?: {
      /** Their email address. */
      email: string;
      /** Their name. */
      name?: string | null | undefined;
    } | null | undefined;
    /** Your user who takes part in the conversation, which the channel api needs. */
    user?: Schemas["EndUser"] | null | undefined;
    /** The subject of the mail. By default it is the beginning of the text. */
    subject?: string | null | undefined;
    /** The message. */
    content: string;
    /** The ids of uploaded files that the message carries. A file belongs to one message. */
    attachments?: string[] | null | undefined;
    /** The member of the team who writes. Visitors see the name. */
    author?: {
      /** Your stable id for the member of the team. */
      id: string;
      /** The member's name. */
      name: string;
    } | null | undefined;
  };
  ConversationUpdate: {
    /** The new status. `open` gives the conversation back to the agent. */
    status?: "open" | "resolved" | "needs_human" | "human_active" | null | undefined;
    /** Replaces the tags; null leaves them unchanged. */
    tags?: string[] | null | undefined;
    /** The member of the team to assign it to; null unassigns it. */
    assignee?: {
      /** Your stable id for the member of the team. */
      id: string;
      /** The member's name. */
      name: string;
    } | null | undefined;
    /** The team that gets it; null for none. The assignee stays unless you send one, or `assign`. */
    team_id?: string | null | undefined;
    /** The new priority; null leaves it unchanged. */
    priority?: "low" | "normal" | "high" | "urgent" | null | undefined;
    /** Takes it from its assignee and gives it to a free member of its team, to somebody else if possible. While nobody is free, it waits in the team. The status must be, or become, `needs_human` or `human_active`. */
    assign?: "round_robin" | null | undefined;
    /** Hides it from the lists of waiting conversations until this time, at most 366 days ahead, or until the visitor writes or it is resolved. null ends that. This does not count as activity. */
    snoozed_until?: string | null | undefined;
    /** Whether the team has read it: true sets unread_count to 0, false sets it to at least 1. This does not count as activity. */
    read?: boolean | null | undefined;
  };
  Reply: Schemas["Message"] & {
    /** The status of the conversation after the reply. */
    conversation_status: "open" | "ai_handled" | "needs_human" | "human_active" | "resolved";
  };
  ReplyIn: {
    /** The text that the visitor reads. */
    content: string;
    /** Whether the reply resolves the conversation. */
    resolve?: boolean | undefined;
    /** The member of the team who writes. Visitors see the name. Ignored if a member is signed in. */
    author?: {
      /** Your stable id for the member of the team. */
      id: string;
      /** The member's name. */
      name: string;
    } | null | undefined;
    /** The ids of uploaded files that the message carries. A file belongs to one message. */
    attachments?: string[] | null | undefined;
  };
  ConversationsUpdated: {
    /** The records of this page. */
    data: {
      /** Its identifier. */
      id: string;
      /** What happened to the conversation. `too_many_tags`: nothing was changed, since it would have more than 20 tags. */
      outcome: "changed" | "unchanged" | "too_many_tags" | "not_found";
      /** Its status before; null if there is no such conversation. */
      previous_status: "open" | "ai_handled" | "needs_human" | "human_active" | "resolved" | null;
      /** Its status now; null if there is no such conversation. */
      status: "open" | "ai_handled" | "needs_human" | "human_active" | "resolved" | null;
      /** Its tags now. */
      tags: string[];
    }[];
  };
  ConversationsUpdate: {
    /** The conversations to change. */
    ids: string[];
    /** The new status. `open` gives the conversations back to the agent. */
    status?: "open" | "resolved" | "needs_human" | "human_active" | undefined;
    /** The tags that each conversation is given, unless it has them. */
    add_tags?: string[] | undefined;
    /** The tags that each conversation loses. */
    remove_tags?: string[] | undefined;
    /** Hides them from the lists of waiting conversations until this time, at most 366 days ahead. null ends that. */
    snoozed_until?: string | null | undefined;
  };
  SuggestedReply: {
    /** The suggestion; empty if the agent's knowledge has nothing for it. */
    content: string;
    /** The sources of the suggestion. */
    citations: Schemas["Citation"][];
    /** How likely the suggestion is right, from 0 to 1. */
    confidence: number;
  };
  /**
   * Server-Sent Events, each with one line of JSON:
   *
   * - `delta` {text}: the next part of the suggestion.
   * - `done`: the whole suggestion, as without streaming. It replaces the parts, and is the last event.
   * - `error` {error: {code, message, request_id}}: the model failed. It is the last event.
   *
   * A comment every 15 seconds keeps the connection open. The stream cannot be resumed.
   */
  SuggestedReplyEvents: string;
  SuggestedReplyIn: {
    /** Whether the answer is streamed as Server-Sent Events. */
    stream?: boolean | undefined;
  };
  ConversationSummary: {
    /** The summary, as plain text. */
    content: string;
  };
  AttachmentUpload: {
    /** A JPEG, PNG, WebP or GIF image, a PDF or a plain text in UTF-8, of at most 10 MB (10,485,760 bytes). */
    file: Blob;
  };
  ApprovalPage: Schemas["ApprovalPageBase"] & {
    /** Null on the last page. */
    next_cursor: string | null;
  };
  Approval: {
    /** Its identifier. */
    id: string;
    /** The agent. */
    agent_id: string;
    /** The conversation. */
    conversation_id: string;
    /** The agent's message that told the visitor that a colleague is asked. */
    message_id: string;
    /** The name of the tool. */
    tool: string;
    /** The arguments of the call, as the model wrote them or as they were approved. */
    arguments: Record<string, unknown>;
    /** `expired` if nobody decided within a day. */
    status: "pending" | "approved" | "declined" | "expired";
    /** Why it was declined; null otherwise. */
    reason: string | null;
    /** Who decided; null before the decision, and if the call has expired. */
    decided_by: {
      /** Your id of the member; null for an API key. */
      id: string | null;
      /** The name of the member or of the API key. */
      name: string;
    } | null;
    /** What the approved call did: `unknown` if it may have taken effect. null until it is made. */
    outcome: "answered" | "failed" | "unknown" | null;
    /** When the agent asked. */
    requested_at: string;
    /** When it was decided, or expired. */
    decided_at: string | null;
    /** The time until which it can be decided. */
    expires_at: string;
  };
  ApprovalPageBase: {
    /** The records of this page. */
    data: Schemas["Approval"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  ApproveIn: {
    /** Replaces the arguments. They must fit the tool's parameters. */
    arguments?: Record<string, unknown> | null | undefined;
    /** The member of the team who decides. By default the API key. */
    author?: {
      /** Your stable id for the member of the team. */
      id: string;
      /** The member's name. */
      name: string;
    } | null | undefined;
  };
  DeclineIn: {
    /** Why the call is not made. The model reads it. */
    reason: string;
    /** The member of the team who decides. By default the API key. */
    author?: {
      /** Your stable id for the member of the team. */
      id: string;
      /** The member's name. */
      name: string;
    } | null | undefined;
  };
  SavedReplyList: {
    /** The records of this page. */
    data: Schemas["SavedReply"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  SavedReply: {
    /** Its identifier. */
    id: string;
    /** A short name, by which the team finds the reply. */
    name: string;
    /** The text. The console replaces the variables `{{visitor.name}}`, `{{visitor.email}}`, `{{agent.name}}`, `{{member.name}}`, `{{workspace.name}}` when the reply is inserted. */
    content: string;
    /** The team that uses it; null for everybody. */
    team_id: string | null;
    /** When it was created. */
    created_at: string;
    /** When it was last changed. */
    updated_at: string;
  };
  SavedReplyIn: {
    /** A short name, by which the team finds the reply. */
    name: string;
    /** The text. The console replaces the variables `{{visitor.name}}`, `{{visitor.email}}`, `{{agent.name}}`, `{{member.name}}`, `{{workspace.name}}` when the reply is inserted. */
    content: string;
    /** The team that uses it; null for everybody. */
    team_id?: string | null | undefined;
  };
  SavedReplyUpdate: {
    /** A short name, by which the team finds the reply. */
    name?: string | null | undefined;
    /** The text. The console replaces the variables `{{visitor.name}}`, `{{visitor.email}}`, `{{agent.name}}`, `{{member.name}}`, `{{workspace.name}}` when the reply is inserted. */
    content?: string | null | undefined;
    /** The team that uses it; null for everybody. */
    team_id?: string | null | undefined;
  };
  BusinessHours: {
    /** The time zone of the hours, by its name in the IANA database. */
    time_zone: string;
    /** The hours of each weekday, as intervals that do not overlap; a day that is left out is closed. null if the team is always there. */
    hours: {
      /** The intervals of the day, in order; empty or left out if it is closed. */
      monday?: {
        /** When it begins. */
        from: string;
        /** When it ends, on the same day; 24:00 for midnight. */
        to: string;
      }[] | undefined;
      /** The intervals of the day, in order; empty or left out if it is closed. */
      tuesday?: {
        /** When it begins. */
        from: string;
        /** When it ends, on the same day; 24:00 for midnight. */
        to: string;
      }[] | undefined;
      /** The intervals of the day, in order; empty or left out if it is closed. */
      wednesday?: {
        /** When it begins. */
        from: string;
        /** When it ends, on the same day; 24:00 for midnight. */
        to: string;
      }[] | undefined;
      /** The intervals of the day, in order; empty or left out if it is closed. */
      thursday?: {
        /** When it begins. */
        from: string;
        /** When it ends, on the same day; 24:00 for midnight. */
        to: string;
      }[] | undefined;
      /** The intervals of the day, in order; empty or left out if it is closed. */
      friday?: {
        /** When it begins. */
        from: string;
        /** When it ends, on the same day; 24:00 for midnight. */
        to: string;
      }[] | undefined;
      /** The intervals of the day, in order; empty or left out if it is closed. */
      saturday?: {
        /** When it begins. */
        from: string;
        /** When it ends, on the same day; 24:00 for midnight. */
        to: string;
      }[] | undefined;
      /** The intervals of the day, in order; empty or left out if it is closed. */
      sunday?: {
        /** When it begins. */
        from: string;
        /** When it ends, on the same day; 24:00 for midnight. */
        to: string;
      }[] | undefined;
    } | null;
    /** Days on which the team is not there at all. */
    holidays: string[];
    /** What visitors read instead of the hand-off message outside the hours. {{opens_at}} is the time of the next opening. null for the usual text in the visitor's language. */
    closed_message: string | null;
    /** Whether visitors whose contact details are not known are asked for them outside the hours. */
    ask_contact_details: boolean;
    /** Whether the team is there now, by the business hours. */
    team_open: boolean;
    /** When the team opens next; null while it is there. */
    opens_at: string | null;
  };
  /** Fields that are left out stay unchanged. */
  BusinessHoursUpdate: {
    /** The time zone of the hours, by its name in the IANA database. */
    time_zone?: string | undefined;
    /** The hours of each weekday, as intervals that do not overlap; a day that is left out is closed. null if the team is always there. */
    hours?: {
      /** The intervals of the day, in order; empty or left out if it is closed. */
      monday?: {
        /** When it begins. */
        from: string;
        /** When it ends, on the same day; 24:00 for midnight. */
        to: string;
      }[] | undefined;
      /** The intervals of the day, in order; empty or left out if it is closed. */
      tuesday?: {
        /** When it begins. */
        from: string;
        /** When it ends, on the same day; 24:00 for midnight. */
        to: string;
      }[] | undefined;
      /** The intervals of the day, in order; empty or left out if it is closed. */
      wednesday?: {
        /** When it begins. */
        from: string;
        /** When it ends, on the same day; 24:00 for midnight. */
        to: string;
      }[] | undefined;
      /** The intervals of the day, in order; empty or left out if it is closed. */
      thursday?: {
        /** When it begins. */
        from: string;
        /** When it ends, on the same day; 24:00 for midnight. */
        to: string;
      }[] | undefined;
      /** The intervals of the day, in order; empty or left out if it is closed. */
      friday?: {
        /** When it begins. */
        from: string;
        /** When it ends, on the same day; 24:00 for midnight. */
        to: string;
      }[] | undefined;
      /** The intervals of the day, in order; empty or left out if it is closed. */
      saturday?: {
        /** When it begins. */
        from: string;
        /** When it ends, on the same day; 24:00 for midnight. */
        to: string;
      }[] | undefined;
      /** The intervals of the day, in order; empty or left out if it is closed. */
      sunday?: {
        /** When it begins. */
        from: string;
        /** When it ends, on the same day; 24:00 for midnight. */
        to: string;
      }[] | undefined;
    } | null | undefined;
    /** Days on which the team is not there at all. */
    holidays?: string[] | undefined;
    /** What visitors read instead of the hand-off message outside the hours. {{opens_at}} is the time of the next opening. null for the usual text in the visitor's language. */
    closed_message?: string | null | undefined;
    /** Whether visitors whose contact details are not known are asked for them outside the hours. */
    ask_contact_details?: boolean | undefined;
  };
  TeamList: {
    /** The records of this page. */
    data: Schemas["Team"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  Team: {
    /** Its identifier. */
    id: string;
    /** The name, as the console shows it. */
    name: string;
    /** The members of the workspace who are in the team. */
    member_ids: string[];
    /** Round robin gives no more conversations to a member who has this many in the statuses `needs_human` and `human_active`. Other assignments are not limited. */
    conversations_per_member: number;
    /** After so many minutes without a reply to the visitor, within the business hours, a conversation of the team is taken from its assignee and given to another member. null: it keeps its assignee. */
    unassign_after_minutes: number | null;
    /** When it was created. */
    created_at: string;
    /** When it was last changed. */
    updated_at: string;
  };
  TeamIn: {
    /** The name, as the console shows it. */
    name: string;
    /** The members of the workspace who are in the team. */
    member_ids?: string[] | undefined;
    /** Round robin gives no more conversations to a member who has this many in the statuses `needs_human` and `human_active`. Other assignments are not limited. */
    conversations_per_member?: number | undefined;
    /** After so many minutes without a reply to the visitor, within the business hours, a conversation of the team is taken from its assignee and given to another member. null: it keeps its assignee. */
    unassign_after_minutes?: number | null | undefined;
  };
  /** Fields that are left out stay unchanged. */
  TeamUpdate: {
    /** The name, as the console shows it. */
    name?: string | undefined;
    /** The members of the workspace who are in the team. */
    member_ids?: string[] | undefined;
    /** Round robin gives no more conversations to a member who has this many in the statuses `needs_human` and `human_active`. Other assignments are not limited. */
    conversations_per_member?: number | undefined;
    /** After so many minutes without a reply to the visitor, within the business hours, a conversation of the team is taken from its assignee and given to another member. null: it keeps its assignee. */
    unassign_after_minutes?: number | null | undefined;
  };
  RoutingRuleList: {
    /** The records of this page. */
    data: Schemas["RoutingRule"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  RoutingRule: {
    /** Its identifier. */
    id: string;
    /** The name, as the console shows it. */
    name: string;
    /** The place in the order, from 1. */
    position: number;
    conditions: Schemas["RoutingConditions"];
    actions: Schemas["RoutingActions"];
    /** When it was created. */
    created_at: string;
    /** When it was last changed. */
    updated_at: string;
  };
  /** All that are given must hold. Without any, the rule applies to every hand-off. */
  RoutingConditions: {
    /** The channel of the conversation. */
    channel?: "widget" | "hosted" | "email" | "api" | undefined;
    /** The agent of the conversation. */
    agent_id?: string | undefined;
    /** The language in which the visitor writes; where it cannot be told, that of the agent. */
    language?: "en" | "de" | "fr" | "es" | "pt" | "it" | "nl" | "no" | "sv" | "da" | "pl" | "tr" | "ar" | "hi" | "zh" | "ja" | undefined;
    /** A tag that the conversation has. */
    tag?: string | undefined;
    /** Words and phrases. The visitor's last two messages, or the subject of the mail, have one of them as whole words. Case, accents and punctuation do not matter. */
    contains?: string[] | undefined;
  };
  /** What is done with the conversation. Fields that are left out leave it as it is. */
  RoutingActions: {
    /** The team that gets the conversation. */
    team_id?: string | undefined;
    /** The member that gets it, also one who is away or has many conversations. */
    assignee_id?: string | undefined;
    /** Gives it to the member of `team_id` who is available, has room and was assigned a conversation longest ago. While there is nobody, it waits in the team. */
    assign?: "round_robin" | undefined;
    /** A tag that is added. */
    tag?: string | undefined;
    /** The priority that it gets. */
    priority?: "low" | "normal" | "high" | "urgent" | undefined;
  };
  RoutingRuleIn: {
    /** The name, as the console shows it. */
    name: string;
    /** The place in the order, from 1; the last one by default. */
    position?: number | undefined;
    conditions?: Schemas["RoutingConditions"] | undefined;
    actions: Schemas["RoutingActions"];
  };
  /** Fields that are left out stay unchanged; `conditions` and `actions` are replaced as a whole. */
  RoutingRuleUpdate: {
    /** The name, as the console shows it. */
    name?: string | undefined;
    /** The place in the order, from 1. */
    position?: number | undefined;
    conditions?: Schemas["RoutingConditions"] | undefined;
    actions?: Schemas["RoutingActions"] | undefined;
  };
  LeadPage: Schemas["LeadPageBase"] & {
    /** Null on the last page. */
    next_cursor: string | null;
  };
  Lead: {
    /** Its identifier. */
    id: string;
    /** The agent. */
    agent_id: string;
    /** The conversation in which the lead was left. */
    conversation_id: string | null;
    /** The visitor who left the lead. */
    visitor_id: string | null;
    /** Their name. */
    name: string | null;
    /** Their email address. */
    email: string | null;
    /** Their phone number. */
    phone: string | null;
    /** Their message. */
    message: string | null;
    /** Further fields of the form, by name. */
    custom_fields: Record<string, string | number | boolean | null>;
    /** The URL of the page on which the lead was left. */
    source_url: string | null;
    /** When it was created. */
    created_at: string;
  };
  LeadPageBase: {
    /** The records of this page. */
    data: Schemas["Lead"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  SourcePage: {
    /** The records of this page. */
    data: Schemas["Source"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  Source: {
    /** Its identifier. */
    id: string;
    /** The agent. */
    agent_id: string;
    /** A whole website, one page, a text, or a file. */
    type: "website" | "url" | "text" | "file";
    /** The name of the source, for your team. */
    name: string;
    /** The address that is read; null for a text or file. */
    url: string | null;
    /** Your key for the source, by which it is replaced; null without one. */
    key: string | null;
    /** Your labels, which a `filter` can name: up to 16 keys of 40 characters, values of 500. */
    metadata: Record<string, string>;
    /** Whether the source waits, is being read, is in use or has failed. */
    status: "pending" | "processing" | "ready" | "failed";
    /** How often the source is read again. */
    schedule: "manual" | "daily" | "weekly";
    /** The most pages that are read of a website, within the plan. */
    max_pages: number;
    /** Pages that were found. */
    pages_found: number;
    /** Pages that the agent answers from. */
    pages_indexed: number;
    /** Pages that could not be read. */
    pages_failed: number;
    /** Pages that were left out, such as copies. */
    pages_skipped: number;
    /** The number of passages of its texts. */
    chunks_count: number;
    /** Why the last sync failed; null if it succeeded. */
    error: Schemas["SourceError"] | null;
    /** When the source was last read completely. */
    last_synced_at: string | null;
    /** When the source will be read again. */
    next_sync_at: string | null;
    /** When it was created. */
    created_at: string;
    /** When it was last changed. */
    updated_at: string;
  };
  SourceCreate: {
    /** A whole website, one page, or a text. */
    type: "website" | "url" | "text";
    /** The name of the source, for your team. */
    name: string;
    /** Required when type is website or url. */
    url?: string | null | undefined;
    /** Required when type is text; at most 5 MB (5,242,880 bytes) in UTF-8. */
    text?: string | null | undefined;
    /** The largest number of pages of a website. The plan limits it. */
    max_pages?: number | undefined;
    /** How often the source is read again. A text is never read again. */
    schedule?: "manual" | "daily" | "weekly" | undefined;
    /** Your labels, which a `filter` can name: up to 16 keys of 40 characters, values of 500. */
    metadata?: Record<string, string> | undefined;
  };
  SourceFile: {
    /** A PDF, DOCX, HTML, Markdown, text or CSV file of at most 20 MB (20,971,520 bytes). */
    file: Blob;
    /** The title of its passages; by default the file's name. */
    name?: string | undefined;
    /** Your labels as JSON, which a `filter` can name. */
    metadata?: Record<string, string> | undefined;
  };
  SourcePut: {
    /** The title of its passages; by default the key. */
    name?: string | undefined;
    /** The text, at most 5 MB (5,242,880 bytes) in UTF-8. */
    text: string;
    /** Your labels, which a `filter` can name: up to 16 keys of 40 characters, values of 500. */
    metadata?: Record<string, string> | undefined;
  };
  /** A field that is left out or null stays as it is. */
  SourcePatch: {
    /** The name of the source. It is the title of a text's passages, so a text is indexed again with it. */
    name?: string | null | undefined;
    /** How often the source is read again. A text or file is never read again. */
    schedule?: "manual" | "daily" | "weekly" | null | undefined;
    /** The largest number of pages of a website, from the next sync on. The plan limits it. */
    max_pages?: number | null | undefined;
    /** Replaces the text of a source of type text. The agent answers from the previous text until the new one is read. */
    text?: string | null | undefined;
    /** Replaces all metadata immediately. `{}` clears them. */
    metadata?: Record<string, string> | null | undefined;
  };
  CrawledPagePage: {
    /** The records of this page. */
    data: Schemas["CrawledPage"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  CrawledPage: {
    /** The URL of the page. */
    url: string;
    /** The title of the page; null until it is read. */
    title: string | null;
    /** The status of the page. */
    status: "indexed" | "failed" | "skipped" | "waiting";
    /** Why the page failed or was skipped, such as http_404, timeout, robots or noindex. */
    reason: string | null;
    /** Whether the agent answers from the page, even if it failed now but was read before. */
    in_use: boolean;
  };
  SourcePassagePage: {
    /** The records of this page. */
    data: Schemas["SourcePassage"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  SourcePassage: {
    /** Whether it is from a page, or from a text or file. */
    type: "page" | "text";
    /** The title of the page, text or file. */
    title: string;
    /** The page; null for a text or file. */
    url: string | null;
    /** The headings above the passage, outermost first; null without one. */
    heading: string | null;
    /** The passage, at most 8 KiB. */
    content: string;
  };
  AnswerPage: {
    /** The records of this page. */
    data: Schemas["Answer"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  Answer: {
    /** Its identifier. */
    id: string;
    /** The agent. */
    agent_id: string;
    /** The question. */
    question: string;
    /** The answer that the agent gives, word for word. */
    answer: string;
    /** Your labels, which a `filter` can name: up to 16 keys of 40 characters, values of 500. */
    metadata: Record<string, string>;
    /** When it was created. */
    created_at: string;
    /** When it was last changed. */
    updated_at: string;
  };
  AnswerCreate: {
    /** The question, as a visitor would ask it. */
    question: string;
    /** The answer that the agent gives, word for word. */
    answer: string;
    /** Your labels, which a `filter` can name: up to 16 keys of 40 characters, values of 500. */
    metadata?: Record<string, string> | undefined;
  };
  /** A field that is left out or null stays as it is. */
  AnswerPatch: {
    /** The question, as a visitor would ask it. */
    question?: string | null | undefined;
    /** The answer that the agent gives, word for word. */
    answer?: string | null | undefined;
    /** Replaces all metadata. `{}` clears them. */
    metadata?: Record<string, string> | null | undefined;
  };
  SearchResults: {
    /** Passages, best first. */
    data: Schemas["SearchResult"][];
  };
  SearchResult: {
    /** The title of the page or text, with the heading above the passage. */
    title: string;
    /** The page; null for a text or a curated answer. */
    url: string | null;
    /** The source, or the curated answer, that it came from. */
    source_id: string;
    /** What kind of source it is. */
    type: "page" | "text" | "answer";
    /** The passage. */
    content: string;
    /** How well the passage fits the question, from 0 to 1. */
    score: number;
  };
  SearchIn: {
    /** What to look for, in words or as a question. */
    query: string;
    /** How many passages to return at most. */
    limit?: number | undefined;
    /** Restricts the search to sources and curated answers whose `metadata` contain, for each of these keys, this value or one of these values. */
    filter?: Record<string, string | string[]> | null | undefined;
  };
  DraftPage: {
    /** The records of this page. */
    data: Schemas["Draft"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  Draft: {
    /** Its identifier. */
    id: string;
    /** The agent. */
    agent_id: string;
    /** The question that the agent could not answer. */
    question: string;
    /** What a colleague replied, without the salutation. */
    answer: string;
    /** The number of equivalent replies to the same question. */
    count: number;
    /** The latest 10 conversations that it comes from, latest first. */
    conversations: Schemas["DraftConversation"][];
    /** When it was created. */
    created_at: string;
    /** When it was last changed. */
    updated_at: string;
  };
  DraftConversation: {
    /** The conversation. */
    conversation_id: string;
    /** The reply. */
    message_id: string;
    /** What the visitor asked. */
    question: string;
  };
  /** A field that is left out or null is taken from the draft. */
  DraftAccept: {
    /** The question, in place of the draft's. */
    question?: string | null | undefined;
    /** What the agent answers, in place of the draft's. */
    answer?: string | null | undefined;
    /** Your labels, which a `filter` can name: up to 16 keys of 40 characters, values of 500. */
    metadata?: Record<string, string> | null | undefined;
  };
  Evaluation: {
    /** Its identifier. */
    id: string;
    /** The agent. */
    agent_id: string;
    /** The name of the evaluation. */
    name: string | null;
    /** Whether the evaluation waits, runs or has ended. */
    status: "pending" | "running" | "completed" | "failed";
    /** The number of cases. */
    cases_count: number;
    /** The number of cases that have run. */
    done_count: number;
    /** The version of the agent that answers, 0 for its draft; null for the published one. */
    version: number | null;
    /** Cases with the expected answer. */
    right_count: number;
    /** Cases with another answer, or with an answer where a refusal is expected. */
    wrong_count: number;
    /** Cases that were handed over although an answer is expected. */
    refused_count: number;
    /** Cases in which the model failed, so that they do not test the knowledge. */
    failed_count: number;
    /** Why the evaluation failed; null if it did not fail. */
    error: string | null;
    /** When its first case started. */
    started_at: string | null;
    /** When it ended. */
    completed_at: string | null;
    /** When it was created. */
    created_at: string;
  };
  EvaluationIn: {
    /** The name of the evaluation. */
    name?: string | null | undefined;
    /** The questions and conversations, each with what is expected. */
    cases: Schemas["EvaluationCaseIn"][];
    /** The version of the agent that answers, or `draft`; by default the published one. It needs the scope `agents:write`. */
    version?: number | "draft" | null | undefined;
  };
  /** A question, fixed turns, or a persona, with what is expected. */
  EvaluationCaseIn: {
    /** The question of a case with one turn. */
    question?: string | undefined;
    /** The visitor's previous messages, oldest first. */
    previous?: string[] | undefined;
    /** The visitor's messages of a case with several turns, instead of a question. */
    turns?: Schemas["EvaluationTurn"][] | undefined;
    persona?: Schemas["EvaluationPersona"] | undefined;
    expect?: Schemas["EvaluationExpectation"] | undefined;
    /** What the agent's tools answer, by their names: a text or any JSON. No tool is called. One that is called without an answer here makes the case wrong; one that needs an approval hands over. */
    tools?: Record<string, unknown> | undefined;
  };
  EvaluationTurn: {
    /** The visitor's message. */
    visitor: string;
    /** What is expected of the answer to it. */
    expect?: {
      /** The source or the curated answer that the answer must cite. */
      source_id?: string | undefined;
      /** A text that the answer must contain. Case and white space do not matter. */
      answer_contains?: string | undefined;
      /** True if the agent must hand over to a human, because it cannot or must not answer. False if it must answer. */
      refusal?: boolean | undefined;
      /** The reason for which it must hand over. */
      handoff_reason?: "customer_request" | "missing_knowledge" | "low_confidence" | "unsupported_request" | "tool_failure" | "approval_required" | undefined;
      /** Texts that the answer must contain, also that of a hand-off. */
      said?: string[] | undefined;
      /** Texts that it must not contain. */
      not_said?: string[] | undefined;
      /** The calls of tools that the agent must make. */
      tools_called?: {
        /** The name of the tool, as the model knows it. */
        name: string;
        /** Arguments that the call has, with others or without. */
        arguments?: Record<string, unknown> | undefined;
      }[] | undefined;
      /** What must be true of the answer, in words. The agent's language model judges it. */
      criteria?: string[] | undefined;
      /** Whether the persona must reach its goal. Only at the end of its conversation. */
      goal_reached?: boolean | undefined;
    } | null | undefined;
  };
  /** A visitor that the language model plays, instead of a question or turns. */
  EvaluationPersona: {
    /** What the visitor wants. */
    goal: string;
    /** What the visitor knows, and how they write. */
    facts?: string | undefined;
    /** How many messages the visitor writes at most. */
    max_turns?: number | undefined;
  };
  /** What is expected of the answer, or at the end of several turns. A question needs it. */
  EvaluationExpectation: {
    /** The source or the curated answer that the answer must cite. */
    source_id?: string | undefined;
    /** A text that the answer must contain. Case and white space do not matter. */
    answer_contains?: string | undefined;
    /** True if the agent must hand over to a human, because it cannot or must not answer. False if it must answer. */
    refusal?: boolean | undefined;
    /** The reason for which it must hand over. */
    handoff_reason?: "customer_request" | "missing_knowledge" | "low_confidence" | "unsupported_request" | "tool_failure" | "approval_required" | undefined;
    /** Texts that the answer must contain, also that of a hand-off. */
    said?: string[] | undefined;
    /** Texts that it must not contain. */
    not_said?: string[] | undefined;
    /** The calls of tools that the agent must make. */
    tools_called?: {
      /** The name of the tool, as the model knows it. */
      name: string;
      /** Arguments that the call has, with others or without. */
      arguments?: Record<string, unknown> | undefined;
    }[] | undefined;
    /** What must be true of the answer, in words. The agent's language model judges it. */
    criteria?: string[] | undefined;
    /** Whether the persona must reach its goal. Only at the end of its conversation. */
    goal_reached?: boolean | undefined;
  };
  EvaluationCase: {
    /** The position of the case in the evaluation, from 0. */
    position: number;
    /** The question; with turns their last message, with a persona its goal. */
    question: string;
    /** The visitor's previous messages, oldest first. */
    previous: string[];
    /** What is expected of an answer or, at the end of a conversation, of all its answers together. All given fields must match; `refusal: false` alone accepts any answer. */
    expect: Schemas["EvaluationExpectation"];
    /** The fixed turns; null without them. */
    turns: Schemas["EvaluationTurn"][] | null;
    /** The visitor that the model plays; null without one. */
    persona: Schemas["EvaluationPersona"] | null;
    /** What the tools answer; null for a question. */
    tools: Record<string, unknown> | null;
    /** How a case of several turns ended; null for a question, or until it has run. */
    end: "all_turns" | "goal_reached" | "gave_up" | "max_turns" | "handed_off" | "failed" | null;
    /** The conversation of such a case, its texts cut to about 8 KB in total. */
    transcript: Schemas["EvaluationCaseTurn"][];
    /** Each expectation, and whether it is met. Empty until the case has run. */
    checks: Schemas["EvaluationCheck"][];
    /** The verdict; null until the case has run. */
    verdict: "right" | "wrong" | "refused" | "failed" | null;
    /** The first 1,000 characters of the agent's answer, with several turns of the last one. */
    answer: string | null;
    /** 0 to 1: how likely the agent thinks it is right; null with several turns. */
    confidence: number | null;
    /** Whether the search found the expected source; null if none is expected. */
    source_found: boolean | null;
    /** The verdict in the run that this one is compared with. */
    before: "right" | "wrong" | "refused" | "failed" | null;
    /** The change since that run: right is better than refused, and refused is better than wrong. Null without a comparison or a verdict. */
    change: "better" | "worse" | "same" | "new" | null;
    /** How the answer, or the last one, was found, in at most 3 KB; null until the case has run. */
    trace: {
      decision: Schemas["TraceDecision"];
      /** The searches in the knowledge. */
      searches: Schemas["TraceSearch"][];
      /** Each call of the model, in order; none for a curated answer. */
      model_calls: Schemas["TraceModelCall"][];
      /** Each call of a tool, in order. */
      tool_calls: Schemas["TraceToolCall"][];
      /** The time from the question to the answer. */
      duration_ms: number;
    } | null;
  };
  EvaluationCaseTurn: {
    /** The visitor's message. */
    visitor: string;
    /** The agent's answer; empty if a human had the conversation. */
    answer: string;
    /** 0 to 1: how likely the agent thinks it is right. */
    confidence: number;
    /** Why the agent handed over; null if it did not. */
    handoff_reason: "customer_request" | "missing_knowledge" | "low_confidence" | "unsupported_request" | "tool_failure" | "model_failure" | "approval_required" | "approval_expired" | null;
    /** The tools that it called, with their arguments as JSON. */
    tool_calls: string[];
  };
  EvaluationCheck: {
    /** The turn that is checked, from 0; null for the end or the only answer. */
    turn: number | null;
    /** What is checked: a field of the expectation, or a tool that was called without an answer in the case. */
    kind: "answered" | "handed_off" | "handoff_reason" | "source_id" | "answer_contains" | "said" | "not_said" | "tool_called" | "unexpected_tool" | "criterion" | "goal_reached";
    /** What is expected, in at most 200 characters. */
    expected: string;
    /** Whether it is so; null if the model that judges it failed. */
    holds: boolean | null;
    /** Why the model judges so; null for other checks. */
    reason: string | null;
  };
  EvaluationPage: {
    /** The records of this page. */
    data: Schemas["Evaluation"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  EvaluationResult: Schemas["Evaluation"] & {
    metrics: Schemas["EvaluationMetrics"];
    /** The changes since the run named by `compare_to`. Cases are matched by their question and the previous messages and, with several turns, by their persona and tools. */
    comparison: {
      /** The run that this one is compared with. */
      evaluation_id: string;
      /** Cases that have become better. */
      better: number;
      /** Cases that have become worse. */
      worse: number;
      /** Cases that have not changed. */
      same: number;
      /** Cases that the other run does not have. */
      new: number;
      /** Cases of the other run that are missing here. */
      missing: number;
    } | null;
    /** All cases, in their order. */
    cases: Schemas["EvaluationCase"][];
  };
  /** The figures of the cases that have run. */
  EvaluationMetrics: {
    /** The share of right cases among those that did not fail. Null if there is no such case. */
    accuracy: number | null;
    /** Among the cases with a `source_id`, the share in which the search found it, whether or not the answer cites it. Null if there is no such case. */
    recall: number | null;
    /** How many cases have a `source_id`. */
    recall_cases: number;
    /** The Brier score of the confidence, among the right and wrong answers, without hand-offs: 0 is best, 0.25 is as good as guessing. Null if there is no such case. */
    brier: number | null;
    /** The answers by ranges of confidence, without hand-offs. */
    calibration: {
      /** The lowest confidence of the range. */
      from: number;
      /** The highest confidence of the range. */
      to: number;
      /** The number of right and wrong answers in the range. */
      cases: number;
      /** Their average confidence. Null if there is no such case. */
      confidence: number | null;
      /** The share of them that is right. If the agent is well calibrated, it is close to the confidence. Null if there is no such case. */
      right: number | null;
    }[];
  };
  ConversationCase: {
    /** The agent. */
    agent_id: string;
    /** The case, as an evaluation takes it. */
    case: {
      /** The visitor's first 20 messages, and what the agent did. */
      turns: Schemas["EvaluationTurn"][];
    };
  };
  AnalyticsOverview: {
    /** The range consists of whole UTC days, of which the last one is today. */
    range: {
      /** The number of days of the range. */
      days: number;
      /** The first day. */
      from: string;
      /** The last day. */
      to: string;
    };
    /** The agent that the figures are limited to; null for all agents. */
    agent_id: string | null;
    totals: Schemas["AnalyticsTotals"];
    rates: Schemas["AnalyticsRates"];
    /** Visitors' ratings of conversations. */
    csat: {
      /** The average score, 1 to 5; null if there are no ratings. */
      average: number | null;
      /** The number of ratings. */
      count: number;
    };
    /** Ratings of answers. Each rating counts with its present value, on the day on which it was first given. */
    feedback: {
      /** Answers that were rated up. */
      up: number;
      /** Answers that were rated down. */
      down: number;
    };
    /** How long visitors waited for a reply and a resolution. */
    times: {
      /** The median time from the start of a conversation to its first reply, by the agent or the team, accurate to 5 %. Null if there are none. */
      median_first_response_seconds: number | null;
      /** The median time from a hand-off to the first reply of the team. A hand-off counts on its own day, once the team has replied before it was resolved, accurate to 5 %. Null if there are none. */
      median_team_reply_seconds: number | null;
      /** The median time from the start of a conversation to its first resolution, accurate to 5 %. Null if there are none. */
      median_resolution_seconds: number | null;
    };
    /** Hand-offs by reason. */
    handoff_reasons: {
      /** The number with customer_request. */
      customer_request: number;
      /** The number with missing_knowledge. */
      missing_knowledge: number;
      /** The number with low_confidence. */
      low_confidence: number;
      /** The number with unsupported_request. */
      unsupported_request: number;
      /** The number with tool_failure. */
      tool_failure: number;
      /** The number with model_failure. */
      model_failure: number;
      /** The number with approval_required. */
      approval_required: number;
      /** The number with approval_expired. */
      approval_expired: number;
    };
    /** Conversations that started, by channel. Those in the `playground` do not count. */
    by_channel: {
      /** The number with widget. */
      widget: number;
      /** The number with hosted. */
      hosted: number;
      /** The number with email. */
      email: number;
      /** The number with api. */
      api: number;
      /** The number with playground. */
      playground: number;
    };
    /** All conversations by their present status, whatever the range. */
    by_status: {
      /** The number with open. */
      open: number;
      /** The number with ai_handled. */
      ai_handled: number;
      /** The number with needs_human. */
      needs_human: number;
      /** The number with human_active. */
      human_active: number;
      /** The number with resolved. */
      resolved: number;
    };
    /** The figures of each day, oldest first. */
    daily: Schemas["AnalyticsDay"][];
    /** At most 10 questions that the agent could not answer, most frequent first. */
    top_unanswered: Schemas["UnansweredQuestion"][];
    /** The same number of days before the range. */
    previous: {
      /** The counts of those days. */
      totals: Schemas["AnalyticsTotals"];
      /** The rates of those days. */
      rates: Schemas["AnalyticsRates"];
    };
  };
  /** The counts of the range. */
  AnalyticsTotals: {
    /** Conversations that started. */
    conversations: number;
    /** Messages of all authors. */
    messages: number;
    /** Answers of the agent. */
    ai_replies: number;
    /** Replies of the team. */
    human_replies: number;
    /** Leads that visitors left. */
    leads: number;
    /** Hand-offs to a human. */
    handoffs: number;
  };
  /** The rates of the range. */
  AnalyticsRates: {
    /** The share of conversations that were resolved without a hand-off or a human reply, among those in which the agent wrote. Null if there are none. */
    ai_resolution: number | null;
    /** The share of such resolutions that were not reopened within 7 days, among those that are more than 7 days old. Null if there are none. */
    durable_resolution_7d: number | null;
    /** The share of conversations that were handed to a human. Null if there are none. */
    handoff: number | null;
    /** The share of resolved conversations that were reopened. Null if there are none. */
    reopen: number | null;
    /** The share of questions to the agent that were handed off because knowledge was missing. Null if there are none. */
    unanswered: number | null;
  };
  AnalyticsDay: {
    /** The day, UTC. */
    date: string;
    /** Conversations that started. */
    conversations: number;
    /** Messages of all authors. */
    messages: number;
    /** Answers of the agent. */
    ai_replies: number;
    /** Replies of the team. */
    human_replies: number;
    /** Leads that visitors left. */
    leads: number;
    /** Hand-offs to a human. */
    handoffs: number;
  };
  UnansweredQuestion: {
    /** The question. */
    question: string;
    /** How often the question was asked. */
    count: number;
  };
  AgentVersionAnalyticsPage: {
    /** The records of this page. */
    data: Schemas["AgentVersionAnalytics"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  AgentVersionAnalytics: {
    /** The number of the version. */
    version: number;
    /** What its author wrote about it. */
    note: string | null;
    /** When it was created. */
    created_at: string;
    /** Conversations that started with the version, and in which the agent wrote. */
    conversations: number;
    /** Answers that the version wrote, hand-off messages included. */
    ai_replies: number;
    /** The rates of the version. */
    rates: {
      /** The share of its conversations that were resolved without a hand-off or a human reply. Null if there are none. */
      ai_resolution: number | null;
      /** The share of its conversations that were handed to a human. Null if there are none. */
      handoff: number | null;
      /** The share of its answers that handed the conversation to a human. Null if there are none. */
      handoff_reply: number | null;
    };
    /** Visitors' ratings of conversations. */
    csat: {
      /** The average score, 1 to 5; null if there are no ratings. */
      average: number | null;
      /** The number of ratings. */
      count: number;
    };
    /** Ratings of its answers, each with its present value. */
    feedback: {
      /** Answers that were rated up. */
      up: number;
      /** Answers that were rated down. */
      down: number;
    };
  };
  GapPage: {
    /** The records of this page. */
    data: Schemas["Gap"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  Gap: {
    /** The most frequent wording of the question. */
    question: string;
    /** How often the question was asked without a good answer: the sum of `unanswered` and `rated_down`. */
    count: number;
    /** How often the question was handed off because the agent could not answer it. */
    unanswered: number;
    /** The number of answers to the question that were rated down. */
    rated_down: number;
    /** When it was first asked in the range. */
    first_at: string;
    /** When it was last asked. */
    last_at: string;
    /** The latest 5 times that it was asked, latest first. */
    examples: Schemas["GapExample"][];
  };
  GapExample: {
    /** What the visitor asked. */
    question: string;
    /** The conversation. */
    conversation_id: string;
    /** The message with the unanswered question, or the answer that was rated down. */
    message_id: string | null;
    /** Whether the question was not answered, or its answer was rated down. */
    kind: "unanswered" | "rated_down";
    /** The comment on the rating; null without one. */
    comment: string | null;
    /** When the question was handed off, or the answer was rated down. */
    at: string;
  };
  PrivacyFound: {
    identifier: Schemas["PrivacyIdentifier"];
    /** The visitors who are this person. */
    visitors: Schemas["Visitor"][];
    /** Visitors who left this email and another one. They are not counted. Find them by their anon_id. */
    shared_visitors: Schemas["Visitor"][];
    /** The numbers of the person's records. */
    counts: {
      /** The number of conversations. */
      conversations: number;
      /** The number of messages in them, of all authors. */
      messages: number;
      /** The number of leads. */
      leads: number;
      /** The number of hand-offs. */
      handoffs: number;
    };
  };
  /** The identifier of the search. */
  PrivacyIdentifier: {
    /** The type of the identifier. */
    type: "email" | "anon_id" | "external_id";
    /** The value of the identifier, as it was searched for. */
    value: string;
  };
  PrivacyErased: {
    /** The id of the erasure in the audit log. */
    audit_id: string;
    /** When the records were erased. */
    erased_at: string;
    /** How many records of each kind were erased. */
    deleted: Record<string, number>;
  };
  PrivacyExport: {
    /** The identifier of the person. */
    identifier: Schemas["PrivacyIdentifier"];
    /** When the export was made. */
    exported_at: string;
    /** The member of the team who has this email address. */
    members: {
      /** Its identifier. */
      id: string;
      /** The name. */
      name: string;
      /** The email address. */
      email: string;
      /** The role. */
      role: "owner" | "admin" | "agent" | "viewer" | "custom";
      /** The status. */
      status: "invited" | "active" | "removed";
      /** When it was created. */
      created_at: string;
    }[];
    /** The visitors who are this person. */
    visitors: Schemas["Visitor"][];
    /** The person's conversations with all messages. */
    conversations: (Schemas["Conversation"] & {
      /** Its hand-offs, oldest first. */
      handoffs: unknown[];
      /** The ratings of its answers. */
      feedback: Schemas["Feedback"][];
      /** The drafts of curated answers that were made from its replies. */
      drafts: Schemas["StoredDraft"][];
      /** The tool calls that the team was asked to approve. */
      approvals: Schemas["Approval"][];
      /** Its messages, oldest first. */
      messages: Schemas["Message"][];
      /** The team's notes on it, oldest first. */
      notes: Schemas["Message"][];
      /** The traces of its answers of the last 30 days, oldest first. */
      traces: Schemas["Trace"][];
    })[];
    /** The leads that the person left. */
    leads: unknown[];
  };
  StoredDraft: {
    /** Its identifier. */
    id: string;
    /** The agent. */
    agent_id: string;
    /** The question that the agent could not answer. */
    question: string;
    /** What a colleague replied, without the salutation. */
    answer: string;
    /** When it was created. */
    created_at: string;
    /** When it was last changed. */
    updated_at: string;
    /** The reply. */
    message_id: string;
    /** The status of the draft. */
    status: "pending" | "accepted" | "dismissed";
  };
  Redaction: {
    /** Whether the numbers of payment cards are masked. */
    card: boolean;
    /** Whether IBANs are masked. */
    iban: boolean;
    /** Your own patterns. A change replaces all of them. */
    patterns: Schemas["RedactionPattern"][];
    /** How often something was masked in this month. A request that is repeated counts again. */
    counts: {
      /** The current month, UTC. */
      month: string;
      /** Numbers of cards that were masked. */
      card: number;
      /** IBANs that were masked. */
      iban: number;
      /** Matches of your patterns that were masked, by name. */
      patterns: Record<string, number>;
    };
  };
  RedactionPattern: {
    /** What is masked. The mask is `[redacted: NAME]`. */
    name: string;
    /** A regular expression of RE2, without lookaround and references to groups. Before it is matched, digits of all scripts become 0 to 9, and characters that are not seen are left out. */
    pattern: string;
  };
  RedactionUpdate: {
    /** Whether the numbers of payment cards are masked. */
    card?: boolean | undefined;
    /** Whether IBANs are masked. */
    iban?: boolean | undefined;
    /** Your own patterns. A change replaces all of them. */
    patterns?: Schemas["RedactionPattern"][] | undefined;
  };
  RedactionPreview: {
    /** The text as it would be stored. */
    text: string;
    /** What was masked, by kind. */
    counts: Record<string, number>;
  };
  RedactionPreviewIn: {
    /** Whether the numbers of payment cards are masked. */
    card?: boolean | undefined;
    /** Whether IBANs are masked. */
    iban?: boolean | undefined;
    /** Your own patterns. A change replaces all of them. */
    patterns?: Schemas["RedactionPattern"][] | undefined;
    /** The text to try out. It is not stored. */
    text: string;
  };
  WebhookList: Schemas["WebhookPage"] & {
    /** The event catalogue. */
    event_types: Schemas["WebhookEventType"][];
  };
  Webhook: {
    /** Its identifier. */
    id: string;
    /** Where events are sent. */
    url: string;
    /** The types that it receives; * stands for all. */
    events: string[];
    /** A note for your team about the purpose of the endpoint. */
    description: string | null;
    /** Whether events are sent to it. */
    enabled: boolean;
    /** manual, failing or gone; null while it is enabled. */
    disabled_reason: string | null;
    /** When it was disabled. */
    disabled_at: string | null;
    /** Failed attempts since the last success. */
    failure_streak: number;
    /** When it last answered with a 2xx. */
    last_success_at: string | null;
    /** When an event was last not delivered, because the plan's deliveries of the day were used up. GET /events lists it. */
    last_skipped_at: string | null;
    /** When it was created. */
    created_at: string;
    /** When it was last changed. */
    updated_at: string;
  };
  WebhookEventType: {
    /** The type, as endpoints subscribe to it. */
    type: "conversation.created" | "conversation.resolved" | "message.ai_replied" | "message.human_replied" | "handoff.created" | "tool_call.approval_requested" | "tool_call.decided" | "lead.created" | "source.synced" | "source.failed";
    /** What happened, and what data is. */
    description: string;
    example: Schemas["WebhookEvent"];
  };
  WebhookEvent: Schemas["ConversationCreatedEvent"] | Schemas["ConversationResolvedEvent"] | Schemas["MessageAiRepliedEvent"] | Schemas["MessageHumanRepliedEvent"] | Schemas["HandoffCreatedEvent"] | Schemas["ToolCallApprovalRequestedEvent"] | Schemas["ToolCallDecidedEvent"] | Schemas["LeadCreatedEvent"] | Schemas["SourceSyncedEvent"] | Schemas["SourceFailedEvent"] | Schemas["WebhookTestEvent"];
  ConversationCreatedEvent: {
    /** Equal to the header webhook-id; the same on every attempt and redelivery. */
    id: string;
    /** The type of the event, which determines the type of data. */
    type: "conversation.created";
    /** When it happened. */
    created_at: string;
    /** The version of the format. */
    api_version: "1.0.0";
    /** The workspace that it happened in. */
    workspace_id: string;
    /** The conversation as it started. */
    data: Schemas["Conversation"] & {
      /** Present when texts were cut to keep the event under 64 KB. */
      truncated?: true | undefined;
    };
  };
  ConversationResolvedEvent: {
    /** Equal to the header webhook-id; the same on every attempt and redelivery. */
    id: string;
    /** The type of the event, which determines the type of data. */
    type: "conversation.resolved";
    /** When it happened. */
    created_at: string;
    /** The version of the format. */
    api_version: "1.0.0";
    /** The workspace that it happened in. */
    workspace_id: string;
    /** The conversation as it was resolved. */
    data: Schemas["Conversation"] & {
      /** Present when texts were cut to keep the event under 64 KB. */
      truncated?: true | undefined;
    };
  };
  MessageAiRepliedEvent: {
    /** Equal to the header webhook-id; the same on every attempt and redelivery. */
    id: string;
    /** The type of the event, which determines the type of data. */
    type: "message.ai_replied";
    /** When it happened. */
    created_at: string;
    /** The version of the format. */
    api_version: "1.0.0";
    /** The workspace that it happened in. */
    workspace_id: string;
    /** The agent's message. */
    data: Schemas["Message"] & {
      /** Present when texts were cut to keep the event under 64 KB. */
      truncated?: true | undefined;
    };
  };
  MessageHumanRepliedEvent: {
    /** Equal to the header webhook-id; the same on every attempt and redelivery. */
    id: string;
    /** The type of the event, which determines the type of data. */
    type: "message.human_replied";
    /** When it happened. */
    created_at: string;
    /** The version of the format. */
    api_version: "1.0.0";
    /** The workspace that it happened in. */
    workspace_id: string;
    /** The team's message. */
    data: Schemas["Message"] & {
      /** Present when texts were cut to keep the event under 64 KB. */
      truncated?: true | undefined;
    };
  };
  HandoffCreatedEvent: {
    /** Equal to the header webhook-id; the same on every attempt and redelivery. */
    id: string;
    /** The type of the event, which determines the type of data. */
    type: "handoff.created";
    /** When it happened. */
    created_at: string;
    /** The version of the format. */
    api_version: "1.0.0";
    /** The workspace that it happened in. */
    workspace_id: string;
    /** The hand-off as it was requested. */
    data: Schemas["Handoff"] & {
      /** Present when texts were cut to keep the event under 64 KB. */
      truncated?: true | undefined;
    };
  };
  ToolCallApprovalRequestedEvent: {
    /** Equal to the header webhook-id; the same on every attempt and redelivery. */
    id: string;
    /** The type of the event, which determines the type of data. */
    type: "tool_call.approval_requested";
    /** When it happened. */
    created_at: string;
    /** The version of the format. */
    api_version: "1.0.0";
    /** The workspace that it happened in. */
    workspace_id: string;
    /** The call that waits for an approval. */
    data: Schemas["Approval"] & {
      /** Present when texts were cut to keep the event under 64 KB. */
      truncated?: true | undefined;
    };
  };
  ToolCallDecidedEvent: {
    /** Equal to the header webhook-id; the same on every attempt and redelivery. */
    id: string;
    /** The type of the event, which determines the type of data. */
    type: "tool_call.decided";
    /** When it happened. */
    created_at: string;
    /** The version of the format. */
    api_version: "1.0.0";
    /** The workspace that it happened in. */
    workspace_id: string;
    /** The call as it was decided. */
    data: Schemas["Approval"] & {
      /** Present when texts were cut to keep the event under 64 KB. */
      truncated?: true | undefined;
    };
  };
  LeadCreatedEvent: {
    /** Equal to the header webhook-id; the same on every attempt and redelivery. */
    id: string;
    /** The type of the event, which determines the type of data. */
    type: "lead.created";
    /** When it happened. */
    created_at: string;
    /** The version of the format. */
    api_version: "1.0.0";
    /** The workspace that it happened in. */
    workspace_id: string;
    /** The lead as it was left. */
    data: Schemas["Lead"] & {
      /** Present when texts were cut to keep the event under 64 KB. */
      truncated?: true | undefined;
    };
  };
  SourceSyncedEvent: {
    /** Equal to the header webhook-id; the same on every attempt and redelivery. */
    id: string;
    /** The type of the event, which determines the type of data. */
    type: "source.synced";
    /** When it happened. */
    created_at: string;
    /** The version of the format. */
    api_version: "1.0.0";
    /** The workspace that it happened in. */
    workspace_id: string;
    /** The source as it was then. */
    data: Schemas["Source"] & {
      /** Present when texts were cut to keep the event under 64 KB. */
      truncated?: true | undefined;
    };
  };
  SourceFailedEvent: {
    /** Equal to the header webhook-id; the same on every attempt and redelivery. */
    id: string;
    /** The type of the event, which determines the type of data. */
    type: "source.failed";
    /** When it happened. */
    created_at: string;
    /** The version of the format. */
    api_version: "1.0.0";
    /** The workspace that it happened in. */
    workspace_id: string;
    /** The source as it was then, with its error. */
    data: Schemas["Source"] & {
      /** Present when texts were cut to keep the event under 64 KB. */
      truncated?: true | undefined;
    };
  };
  WebhookTestEvent: {
    /** Equal to the header webhook-id; the same on every attempt and redelivery. */
    id: string;
    /** The type of the event, which determines the type of data. */
    type: "webhook.test";
    /** When it happened. */
    created_at: string;
    /** The version of the format. */
    api_version: "1.0.0";
    /** The workspace that it happened in. */
    workspace_id: string;
    /** A sentence. */
    data: Schemas["WebhookTest"] & {
      /** Present when texts were cut to keep the event under 64 KB. */
      truncated?: true | undefined;
    };
  };
  WebhookTest: {
    /** A sentence for the person who reads the event. */
    message: string;
  };
  WebhookPage: {
    /** The records of this page. */
    data: Schemas["Webhook"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  WebhookWithSecret: Schemas["Webhook"] & {
    /** The secret that signs each request (Standard Webhooks). It is shown only here. */
    secret: string;
  };
  WebhookIn: {
    /** HTTPS on a public host. */
    url: string;
    /** The types to receive, or the single value * for all types, including those of later versions. */
    events: ("conversation.created" | "conversation.resolved" | "message.ai_replied" | "message.human_replied" | "handoff.created" | "tool_call.approval_requested" | "tool_call.decided" | "lead.created" | "source.synced" | "source.failed" | "*")[];
    /** A note for your team about the purpose of the endpoint. */
    description?: string | null | undefined;
    /** Whether events are sent to it. */
    enabled?: boolean | undefined;
  };
  /** A field that is left out or null stays as it is. Only description is cleared by null. */
  WebhookPatch: {
    /** HTTPS on a public host. */
    url?: string | null | undefined;
    /** The types to receive, or the single value * for all types, including those of later versions. */
    events?: ("conversation.created" | "conversation.resolved" | "message.ai_replied" | "message.human_replied" | "handoff.created" | "tool_call.approval_requested" | "tool_call.decided" | "lead.created" | "source.synced" | "source.failed" | "*")[] | null | undefined;
    /** Null clears it. */
    description?: string | null | undefined;
    /** true also resets the failure streak; false fails the pending deliveries. */
    enabled?: boolean | null | undefined;
  };
  Delivery: {
    /** Its identifier. */
    id: string;
    /** The webhook endpoint. */
    webhook_id: string;
    /** The event. */
    event_id: string;
    /** What happened. */
    event_type: string;
    /** The status of the delivery, which is `pending` while it is retried. */
    status: "pending" | "succeeded" | "failed";
    /** Whether the delivery was sent for an event, as a test, or again. */
    trigger: "event" | "test" | "redelivery";
    /** The number of attempts so far. */
    attempt_count: number;
    /** When the next attempt is due; null if no attempt follows. */
    next_attempt_at: string | null;
    /** When it was created. */
    created_at: string;
    /** When it succeeded or failed for good. */
    completed_at: string | null;
    /** Oldest first. */
    attempts: Schemas["DeliveryAttempt"][];
  };
  DeliveryAttempt: {
    /** 1 for the first attempt. */
    number: number;
    /** When the attempt was made. */
    started_at: string;
    /** The duration of the attempt in milliseconds. */
    duration_ms: number;
    /** The HTTP status; null without a response. */
    response_status: number | null;
    /** The first 8 KiB of the response body. Null without a response, if the log has no room for it, a day after a success, and if the key may not read the event. */
    response_body: string | null;
    /** Whether the body was longer than what is kept of it. */
    response_truncated: boolean;
    /** Why the attempt failed; null if it succeeded. `endpoint_disabled`: nothing was sent, because the endpoint was disabled or the plan no longer includes webhooks. */
    error: "timeout" | "connection_failed" | "blocked_url" | "http_error" | "secret_unreadable" | "endpoint_disabled" | null;
    /** The address of the attempt. */
    url: string;
  };
  DeliveryPage: Schemas["DeliveryPageBase"] & {
    /** Null on the last page. */
    next_cursor: string | null;
  };
  DeliveryPageBase: {
    /** The records of this page. */
    data: Schemas["Delivery"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  DeliveryRequest: {
    /** The headers that are the same in each attempt. `webhook-timestamp` and `webhook-signature` are made anew for each attempt, and not kept. */
    headers: Record<string, string>;
    /** The body as it is sent; null if the event is too old and no longer kept. */
    body: string | null;
  };
  EventPage: {
    /** Oldest first. */
    data: Schemas["WebhookEvent"][];
    /** Whether there are more events now. */
    has_more: boolean;
    /** The cursor for the next page, now or later. */
    next_cursor: string;
  };
}

/** What each operation takes (the parameters of its path and query, and its body) and what it answers. */
export interface Operations {
  /** Who the key belongs to, and what it may do. Any valid key may call it. */
  getMe: {
    input: {};
    answer: Schemas["KeyIntrospection"];
  };
  /** Plan, limits and usage of this billing period. Scope: `analytics:read`. */
  getUsage: {
    input: {};
    answer: Schemas["Usage"];
  };
  /** List the workspace's agents. A key that also has the scope `agents:write` sees all settings. Scope: `agents:read`. */
  listAgents: {
    input: {
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
    };
    answer: Schemas["AgentPage"];
  };
  /** Add an agent. Scope: `agents:write`. */
  createAgent: {
    input: {
      body: Schemas["AgentCreate"];
    };
    answer: Schemas["AgentSettings"];
  };
  /** Get an agent. A key that also has the scope `agents:write` sees all settings. Scope: `agents:read`. */
  getAgent: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
    };
    answer: Schemas["Agent"];
  };
  /** Change an agent's settings. The change is in effect at once. If it changes settings that have versions, it publishes a version, and ends a rollout of another one. Scope: `agents:write`. */
  updateAgent: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      body: Schemas["AgentUpdate"];
    };
    answer: Schemas["AgentSettings"];
  };
  /** Delete an agent and its knowledge. Its conversations and leads stay with the workspace. Scope: `agents:write`. */
  deleteAgent: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
    };
    answer: undefined;
  };
  /** Replace the secret that verifies an agent's visitors. The previous secret stays valid for a day, or ends at once with `revoke`. Scope: `agents:write`. */
  rotateIdentitySecret: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      body?: Schemas["IdentitySecretRotation"] | undefined;
    };
    answer: Schemas["IdentitySecret"];
  };
  /** List the versions of an agent. Each change of the settings that shape answers is a version: the language, the instructions, the welcome and hand-off messages, the threshold, the model, the tools and the languages with their texts. The latest 100 versions are kept, or fewer if they are very large, and those of an evaluation. Scope: `agents:write`. */
  listAgentVersions: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
    };
    answer: Schemas["AgentVersionPage"];
  };
  /** Get a version of an agent, or its draft. A draft without changes has the settings of the published version. Scope: `agents:write`. */
  getAgentVersion: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The number of the version, or `draft`. */
      version: string;
    };
    answer: Schemas["AgentVersionWithSettings"];
  };
  /** Change the draft of an agent. The draft is the published version with the changes that you make here. Visitors do not see it. Ask it with `version: draft`, and publish it when it is good. Scope: `agents:write`. */
  updateAgentDraft: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      body: Schemas["AgentDraftUpdate"];
    };
    answer: Schemas["AgentVersionWithSettings"];
  };
  /** Discard the changes of the draft. Scope: `agents:write`. */
  deleteAgentDraft: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
    };
    answer: undefined;
  };
  /** Publish the draft of an agent. Makes the draft a version that answers all conversations, or with `rollout` a share of the new ones. Such a conversation keeps its version until the rollout ends. What is published to everybody ends a rollout. Scope: `agents:write`. */
  publishAgentDraft: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      body?: Schemas["AgentPublication"] | undefined;
    };
    answer: Schemas["AgentVersion"];
  };
  /** Change or end the rollout of a version. A new share counts for conversations that start from then on. Scope: `agents:write`. */
  changeAgentRollout: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      body: Schemas["AgentRollout"];
    };
    answer: Schemas["AgentVersion"];
  };
  /** Publish an earlier version of an agent again. Its settings become a new version, which answers all conversations. The draft stays. Scope: `agents:write`. */
  restoreAgentVersion: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The number of the version. */
      version: string;
      body?: Schemas["AgentRestoration"] | undefined;
    };
    answer: Schemas["AgentVersion"];
  };
  /** Call a tool as the agent would. Calls the tool for real, so a tool that changes something does change it. No conversation is created. A tool of an MCP server has the server's name before its own, such as `support_search`. Scope: `agents:write`. */
  testTool: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The name by which models call it. */
      tool_name: string;
      body: Schemas["ToolTestIn"];
    };
    answer: Schemas["ToolTest"];
  };
  /** List the members of the team. Members who were removed are not in the list. Scope: `members:read`. */
  listMembers: {
    input: {};
    answer: Schemas["MemberPage"];
  };
  /** Invite somebody to the team. The member signs in with the link of the invitation, once, within 7 days and before any change of the member, or by another method that the workspace allows. The link is mailed if the operator has set up mail; otherwise, and if the mail cannot be sent, the response has it. You can give only scopes that you have. Only owners, and keys that the operator made with the scope `*`, invite owners. Scope: `members:write`. */
  inviteMember: {
    input: {
      body: Schemas["MemberCreate"];
    };
    answer: Schemas["InvitedMember"];
  };
  /** Get a member of the team. Members need no scope for themselves. Scope: `members:read`. */
  getMember: {
    input: {
      /** The member of the team. */
      member_id: string;
    };
    answer: Schemas["Member"];
  };
  /** Change a member. The change is in effect from the next request on. Members need no scope for their own name and availability, and `members:write` for others. The last owner stays one. Scope: `members:read`. */
  updateMember: {
    input: {
      /** The member of the team. */
      member_id: string;
      body: Schemas["MemberUpdate"];
    };
    answer: Schemas["Member"];
  };
  /** Remove a member. All sessions end at once, and the open conversations of the member are assigned to nobody. The name stays at what the member wrote. The last owner cannot be removed. Scope: `members:write`. */
  removeMember: {
    input: {
      /** The member of the team. */
      member_id: string;
    };
    answer: undefined;
  };
  /** Make another link for an invited member. The link is mailed as that of an invitation. A link that was made before works until it expires, the member is changed or signs in. Scope: `members:write`. */
  renewInvitation: {
    input: {
      /** The member of the team. */
      member_id: string;
      body?: Schemas["InvitationRenew"] | undefined;
    };
    answer: Schemas["InvitedMember"];
  };
  /** List where a member is signed in. Members need no scope for their own sessions, and `members:write` for those of others. Scope: `members:read`. */
  listMemberSessions: {
    input: {
      /** The member of the team. */
      member_id: string;
    };
    answer: Schemas["MemberSessionPage"];
  };
  /** End a session of a member. The session is refused from the next request on. Members need no scope for their own sessions, and `members:write` for those of others. Scope: `members:read`. */
  endMemberSession: {
    input: {
      /** The member of the team. */
      member_id: string;
      /** The session of the member. */
      session_id: string;
    };
    answer: undefined;
  };
  /** List the applications that a member has connected. Applications such as Claude and ChatGPT use `/mcp` for the member. Members need no scope for their own, and `members:write` for those of others. Scope: `members:read`. */
  listMemberApplications: {
    input: {
      /** The member of the team. */
      member_id: string;
    };
    answer: Schemas["ConnectedApplicationPage"];
  };
  /** Disconnect an application of a member. Its access is refused from the next request on. Members need no scope for their own applications, and `members:write` for those of others. Scope: `members:read`. */
  disconnectMemberApplication: {
    input: {
      /** The member of the team. */
      member_id: string;
      /** The connected application. */
      application_id: string;
    };
    answer: undefined;
  };
  /** Get how people sign in to the console. Scope: `members:write`. */
  getSignInSettings: {
    input: {};
    answer: Schemas["SignInSettings"];
  };
  /** Change how people sign in to the console. Only owners, and keys that the operator made with the scope `*`, change the provider: whoever runs it can sign in as any member. A domain gives at most a role whose scopes you have. `key` can be left out once an owner has signed in; API keys then work in the API only. With another issuer or client_id, members are found by their email addresses again. Scope: `members:write`. */
  updateSignInSettings: {
    input: {
      body: Schemas["SignInSettingsUpdate"];
    };
    answer: Schemas["SignInSettings"];
  };
  /** List what was done in the workspace. Changes of agents, keys, members, sign-in and webhooks, sign-ins, and exports and erasures of personal data. Entries are kept for 400 days, at most 20,000 of them; erasures that deleted something are kept for ever. Scope: `members:write`. */
  listAuditLog: {
    input: {
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
      /** The next_cursor of the previous page. Records that are added meanwhile do not shift the pages. Do not send offset with it. */
      cursor?: string | undefined;
      /** Only entries of this action. */
      action?: "agent.created" | "agent.updated" | "agent.deleted" | "agent.published" | "agent.rolled_back" | "agent.rollout_changed" | "agent.identity_secret_rotated" | "key.created" | "key.revoked" | "member.invited" | "member.joined" | "member.updated" | "member.removed" | "member.signed_in" | "member.session_ended" | "application.connected" | "application.disconnected" | "sign_in.updated" | "team.created" | "team.updated" | "team.deleted" | "routing_rule.created" | "routing_rule.updated" | "routing_rule.deleted" | "webhook.created" | "webhook.updated" | "webhook.deleted" | "webhook.secret_rotated" | "privacy.export" | "privacy.erase" | undefined;
      /** Only entries of the member or key with this id, or of `operator`. */
      actor?: string | undefined;
      /** Only entries at or after this time. */
      since?: string | undefined;
    };
    answer: Schemas["AuditLogPage"];
  };
  /** List the workspace's API keys. Includes revoked keys, of which the latest 100 are kept. Scope: `keys:write`. */
  listKeys: {
    input: {};
    answer: Schemas["KeyPage"];
  };
  /** Add an API key. The new key is valid from the next request on. A key can only grant scopes that it has. Scope: `keys:write`. */
  createKey: {
    input: {
      body: Schemas["KeyCreate"];
    };
    answer: Schemas["NewKey"];
  };
  /** Revoke an API key. The key is refused from the next request on. The last key with `keys:write` cannot be revoked. Scope: `keys:write`. */
  revokeKey: {
    input: {
      /** The API key. */
      key_id: string;
    };
    answer: undefined;
  };
  /** Ask an agent. The agent answers from its knowledge, or hands the conversation to a human. Each question that it is asked to answer counts toward the month's message quota. Scope: `chat:write`. */
  askAgent: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      body: Schemas["ChatIn"];
    };
    answer: Schemas["ChatAnswer"];
  };
  /** Send the results of client tools. Sends the results of the calls in an answer's `required_action`, and gets the answer that waited for them, or the next calls. Results that are sent again are ignored: they get the calls for which the answer waits now, or the finished answer. If no results come in time, the question is handed to a human, unless the conversation was resolved meanwhile. Scope: `chat:write`. */
  sendToolResults: {
    input: {
      /** The conversation. */
      conversation_id: string;
      /** The message. */
      message_id: string;
      body: Schemas["ToolResultsIn"];
    };
    answer: Schemas["ChatAnswer"];
  };
  /** Resume the stream of an answer. Resumes a stream that broke off, or repeats one that has ended. It does not count toward the message quota. The status is 204 if the event that you have was the last. Scope: `conversations:read`. */
  resumeAnswer: {
    input: {
      /** The conversation. */
      conversation_id: string;
      /** The message. */
      message_id: string;
    };
    answer: Schemas["ChatEvents"];
  };
  /** Get the trace of an answer. A trace shows why an answer was given: what was found in the knowledge and with which scores, the decision, the calls of models and tools, and the times. Each answer and each hand-off of an agent has a trace for 30 days. Scope: `conversations:read`. */
  getTrace: {
    input: {
      /** The conversation. */
      conversation_id: string;
      /** The message. */
      message_id: string;
    };
    answer: Schemas["Trace"];
  };
  /** Ask an agent with OpenAI's protocol. Asks an agent in the same way as `POST /agents/{agent_id}/messages`, for programs that use OpenAI's chat completions. Sampling parameters have no effect. The header `X-Unknown-Fields` names them and the messages that are ignored. Scope: `chat:write`. */
  createChatCompletion: {
    input: {
      body: Schemas["ChatCompletionIn"];
    };
    answer: Schemas["ChatCompletion"];
  };
  /** List the agents with OpenAI's protocol. The active agents as models. Scope: `agents:read`. */
  listModels: {
    input: {};
    answer: Schemas["ModelList"];
  };
  /** List and search conversations, by last activity. With `Accept: text/csv`, the matching conversations as a CSV file, in parts, without their messages. Scope: `conversations:read`. */
  listConversations: {
    input: {
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
      /** The next_cursor of the previous page. Records that are added meanwhile do not shift the pages. Do not send offset with it. */
      cursor?: string | undefined;
      /** The agent's id or slug. */
      agent_id?: string | undefined;
      /** Only conversations with this status. */
      status?: "open" | "ai_handled" | "needs_human" | "human_active" | "resolved" | undefined;
      /** Only conversations of this channel. */
      channel?: "widget" | "hosted" | "email" | "api" | "playground" | undefined;
      /** Only conversations with activity at or after this time. */
      updated_since?: string | undefined;
      /** Only conversations with a message or note that contains all these words or beginnings of words, or whose subject and visitor contain them. Case and accents do not matter. Text in quotation marks must match word for word. */
      q?: string | undefined;
      /** Only conversations that are assigned to this member of the team. */
      assignee_id?: string | undefined;
      /** Only conversations that wait for the team or that it handles. It cannot be combined with `q` or `status`. */
      with_team?: "true" | undefined;
      /** Only conversations that wait for the team or that it handles, and that are assigned to nobody. It cannot be combined with `q` or `assignee_id`. */
      unassigned?: "true" | undefined;
      /** Only conversations of this team. It cannot be combined with `q`. */
      team_id?: string | undefined;
      /** Only conversations with this priority. It cannot be combined with `q`. */
      priority?: "low" | "normal" | "high" | "urgent" | undefined;
      /** Only conversations with unread messages. The `total` is then the number of unread conversations. */
      unread?: "true" | undefined;
      /** `false` leaves conversations out while they are snoozed, and `true` lists only those. It cannot be combined with `q`. */
      snoozed?: "true" | "false" | undefined;
      /** Only conversations of this visitor. It cannot be combined with `q`. */
      visitor_id?: string | undefined;
      /** Whether the list begins with the newest or the oldest activity. `oldest` cannot be combined with `q`. */
      order?: "newest" | "oldest" | undefined;
    };
    answer: Schemas["ConversationPage"];
  };
  /** Start a conversation as the team. Sends the first message of a conversation, by mail from the agent's mailbox or over the API. Your team has the conversation until it is resolved or its status is set to open. Replies to the mail are added to the conversation. Scope: `conversations:write`. */
  startConversation: {
    input: {
      body: Schemas["ConversationIn"];
    };
    answer: Schemas["ConversationWithMessages"];
  };
  /** Get a conversation with its latest messages. Scope: `conversations:read`. */
  getConversation: {
    input: {
      /** The conversation. */
      conversation_id: string;
    };
    answer: Schemas["ConversationWithMessages"];
  };
  /** Change a conversation's status, tags, assignee, team, priority or snooze. Fields that are left out stay unchanged. Scope: `conversations:write`. */
  updateConversation: {
    input: {
      /** The conversation. */
      conversation_id: string;
      body: Schemas["ConversationUpdate"];
    };
    answer: Schemas["Conversation"];
  };
  /** Add a note for the team. A note appears in the transcript for the team only: visitors, models and events never contain it. The status does not change. Scope: `conversations:write`. */
  addNote: {
    input: {
      /** The conversation. */
      conversation_id: string;
      body: Schemas["NoteIn"];
    };
    answer: Schemas["Message"];
  };
  /** Rate an answer of the agent. The member or the API key is the author. A later rating by the same author replaces the earlier one. Scope: `conversations:write`. */
  rateAnswer: {
    input: {
      /** The conversation. */
      conversation_id: string;
      /** The message. */
      message_id: string;
      body: Schemas["FeedbackIn"];
    };
    answer: Schemas["Feedback"];
  };
  /** List ratings of answers, newest first. Ratings by visitors and by API keys. A changed rating keeps its place in the list. Scope: `conversations:read`. */
  listFeedback: {
    input: {
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
      /** The next_cursor of the previous page. Records that are added meanwhile do not shift the pages. Do not send offset with it. */
      cursor?: string | undefined;
      /** The agent's id or slug. */
      agent_id?: string | undefined;
      /** Only these ratings. */
      rating?: "up" | "down" | undefined;
      /** Only ratings first given at or after this time. */
      since?: string | undefined;
    };
    answer: Schemas["FeedbackPage"];
  };
  /** List the messages of a conversation. The list includes the team's notes. The first page has the latest messages, and the next page has the messages before them. Each page is sorted oldest first. With `after`, the list has only the messages after that one, and the next page has those that follow. With `wait`, the response comes as soon as there is such a message, or the conversation changes, or the time is over; it may be empty. Scope: `conversations:read`. */
  listMessages: {
    input: {
      /** The conversation. */
      conversation_id: string;
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** The next_cursor of the previous page. Records that are added meanwhile do not shift the pages. Do not send offset with it. */
      cursor?: string | undefined;
      /** The latest message that you have. The list then has the messages after it. */
      after?: string | undefined;
      /** With after: how many seconds to wait if there is no message yet. */
      wait?: number | undefined;
    };
    answer: Schemas["MessagePage"];
  };
  /** Reply as a human on the team. The agent then stays silent until the conversation is resolved or its status is set to open. Scope: `conversations:write`. */
  replyToConversation: {
    input: {
      /** The conversation. */
      conversation_id: string;
      body: Schemas["ReplyIn"];
    };
    answer: Schemas["Reply"];
  };
  /** Change the status, tags or snooze of several conversations. Each conversation is changed wholly or not at all, with the same rules and events as by `PATCH`. The response says what happened to each, in the order of the ids. Scope: `conversations:write`. */
  updateConversations: {
    input: {
      body: Schemas["ConversationsUpdate"];
    };
    answer: Schemas["ConversationsUpdated"];
  };
  /** Suggest a reply to the team. The agent writes the answer that it would give to the visitor's last question, from its knowledge and the conversation, however unsure it is. Nothing is sent or stored, and the agent's own tools are not called. Each suggestion counts toward the month's message quota, unless the model fails. Scope: `conversations:write`. */
  suggestReply: {
    input: {
      /** The conversation. */
      conversation_id: string;
      body?: Schemas["SuggestedReplyIn"] | undefined;
    };
    answer: Schemas["SuggestedReply"];
  };
  /** Summarise a conversation for who takes it over. A language model writes the summary, which counts toward the month's message quota. Without a language model, and where it fails, the summary is the question, what was answered, and why the conversation was handed over. Nothing is stored. Scope: `conversations:write`. */
  summarizeConversation: {
    input: {
      /** The conversation. */
      conversation_id: string;
    };
    answer: Schemas["ConversationSummary"];
  };
  /** Upload a file for a message. Send it as multipart/form-data, then name its id in the `attachments` of a question or a reply. The type is detected from the content, not from the name. A file that no message takes within 24 hours is deleted. Scope: `conversations:write` or `chat:write`. */
  uploadAttachment: {
    input: {
      body: Schemas["AttachmentUpload"];
    };
    answer: Schemas["Attachment"];
  };
  /** Get an uploaded file's address. Returns a new signed address, such as for an attachment in an event. Scope: `conversations:read`. */
  getAttachment: {
    input: {
      /** The uploaded file. */
      attachment_id: string;
    };
    answer: Schemas["Attachment"];
  };
  /** List tool calls that need an approval. A tool with `requires_approval` is called only after a member of your team has approved the call. The visitor is told that a colleague is asked, and gets the answer after the decision. The `total` counts up to 1,000 calls. Scope: `conversations:read`. */
  listApprovals: {
    input: {
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
      /** The next_cursor of the previous page. Records that are added meanwhile do not shift the pages. Do not send offset with it. */
      cursor?: string | undefined;
      /** Only calls with this status. */
      status?: "pending" | "approved" | "declined" | "expired" | undefined;
      /** Only calls of this conversation. */
      conversation_id?: string | undefined;
    };
    answer: Schemas["ApprovalPage"];
  };
  /** Approve a tool call. The call is made once, and the agent answers the visitor with its result. Approving it again changes nothing. Scope: `conversations:write`. */
  approveToolCall: {
    input: {
      /** The tool call that needs an approval. */
      approval_id: string;
      body: Schemas["ApproveIn"];
    };
    answer: Schemas["Approval"];
  };
  /** Decline a tool call. Nothing is called. The agent reads the reason, and answers the visitor. Scope: `conversations:write`. */
  declineToolCall: {
    input: {
      /** The tool call that needs an approval. */
      approval_id: string;
      body: Schemas["DeclineIn"];
    };
    answer: Schemas["Approval"];
  };
  /** List saved replies. Scope: `conversations:read`. */
  listSavedReplies: {
    input: {};
    answer: Schemas["SavedReplyList"];
  };
  /** Save a reply. The team inserts it in the console. A workspace has at most 200. Scope: `conversations:write`. */
  createSavedReply: {
    input: {
      body: Schemas["SavedReplyIn"];
    };
    answer: Schemas["SavedReply"];
  };
  /** Get a saved reply. Scope: `conversations:read`. */
  getSavedReply: {
    input: {
      /** The saved reply. */
      saved_reply_id: string;
    };
    answer: Schemas["SavedReply"];
  };
  /** Change a saved reply. Fields that are left out stay unchanged. Scope: `conversations:write`. */
  updateSavedReply: {
    input: {
      /** The saved reply. */
      saved_reply_id: string;
      body: Schemas["SavedReplyUpdate"];
    };
    answer: Schemas["SavedReply"];
  };
  /** Delete a saved reply. Scope: `conversations:write`. */
  deleteSavedReply: {
    input: {
      /** The saved reply. */
      saved_reply_id: string;
    };
    answer: undefined;
  };
  /** Get the hours of your team. Scope: `conversations:read`. */
  getBusinessHours: {
    input: {};
    answer: Schemas["BusinessHours"];
  };
  /** Change the hours of your team. Outside the hours, a hand-off tells the visitor when the team opens next. Agents answer at all hours. The change takes effect on the next request. Scope: `conversations:write`. */
  updateBusinessHours: {
    input: {
      body: Schemas["BusinessHoursUpdate"];
    };
    answer: Schemas["BusinessHours"];
  };
  /** List teams. Scope: `conversations:read`. */
  listTeams: {
    input: {};
    answer: Schemas["TeamList"];
  };
  /** Create a team. A workspace has at most 50 teams. Scope: `conversations:write`. */
  createTeam: {
    input: {
      body: Schemas["TeamIn"];
    };
    answer: Schemas["Team"];
  };
  /** Get a team. Scope: `conversations:read`. */
  getTeam: {
    input: {
      /** The team. */
      team_id: string;
    };
    answer: Schemas["Team"];
  };
  /** Change a team. Fields that are left out stay unchanged. Conversations that wait are given to members who can now take them. Scope: `conversations:write`. */
  updateTeam: {
    input: {
      /** The team. */
      team_id: string;
      body: Schemas["TeamUpdate"];
    };
    answer: Schemas["Team"];
  };
  /** Delete a team. Its unresolved conversations keep their assignees, and no longer have a team; its saved replies are everybody's. Rules that name the team ignore it. Scope: `conversations:write`. */
  deleteTeam: {
    input: {
      /** The team. */
      team_id: string;
    };
    answer: undefined;
  };
  /** List routing rules. A conversation that is handed off is routed by the first rule whose conditions hold. Scope: `conversations:read`. */
  listRoutingRules: {
    input: {};
    answer: Schemas["RoutingRuleList"];
  };
  /** Create a routing rule. A workspace has at most 50 rules. What a rule names must exist; what is deleted later is left out. Scope: `conversations:write`. */
  createRoutingRule: {
    input: {
      body: Schemas["RoutingRuleIn"];
    };
    answer: Schemas["RoutingRule"];
  };
  /** Get a routing rule. Scope: `conversations:read`. */
  getRoutingRule: {
    input: {
      /** The routing rule. */
      routing_rule_id: string;
    };
    answer: Schemas["RoutingRule"];
  };
  /** Change or move a routing rule. Scope: `conversations:write`. */
  updateRoutingRule: {
    input: {
      /** The routing rule. */
      routing_rule_id: string;
      body: Schemas["RoutingRuleUpdate"];
    };
    answer: Schemas["RoutingRule"];
  };
  /** Delete a routing rule. Scope: `conversations:write`. */
  deleteRoutingRule: {
    input: {
      /** The routing rule. */
      routing_rule_id: string;
    };
    answer: undefined;
  };
  /** List and search leads, newest first. With `Accept: text/csv`, the matching leads as a CSV file, in parts. Scope: `leads:read`. */
  listLeads: {
    input: {
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
      /** The next_cursor of the previous page. Records that are added meanwhile do not shift the pages. Do not send offset with it. */
      cursor?: string | undefined;
      /** The agent's id or slug. */
      agent_id?: string | undefined;
      /** Only leads with this text in their name, email, phone or custom fields. Case does not matter, and a phone number is also found by its digits alone. */
      q?: string | undefined;
      /** Only leads left at or after this time. */
      created_since?: string | undefined;
      /** Only leads of this visitor. It cannot be combined with `q`. */
      visitor_id?: string | undefined;
    };
    answer: Schemas["LeadPage"];
  };
  /** List an agent's knowledge sources. Scope: `knowledge:read`. */
  listSources: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
    };
    answer: Schemas["SourcePage"];
  };
  /** Add a knowledge source. The source is read in the background: poll it until its status is ready or failed. Scope: `knowledge:write`. */
  createSource: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      body: Schemas["SourceCreate"];
    };
    answer: Schemas["Source"];
  };
  /** Add a file as a knowledge source. Send it as multipart/form-data. The type is detected from the content, not from the name. The text is read in the background: poll the source until its status is ready or failed. Scope: `knowledge:write`. */
  uploadSourceFile: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      body: Schemas["SourceFile"];
    };
    answer: Schemas["Source"];
  };
  /** Add or replace a text or file by your own key. Adds a source under a key of your choice, or replaces the name, metadata and content of the source that has it. Send a text as JSON, or a file as multipart/form-data. The agent answers from the previous content until the new one is read. If name and content are the same as before, nothing is read again, and no sync is counted. Scope: `knowledge:write`. */
  putSource: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** Your key for the source, unique in its agent, such as the path of a file. */
      source_key: string;
      body: Schemas["SourcePut"] | Schemas["SourceFile"];
    };
    answer: Schemas["Source"];
  };
  /** Get a source. Scope: `knowledge:read`. */
  getSource: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The source. */
      source_id: string;
    };
    answer: Schemas["Source"];
  };
  /** Change a source. A new text is read in the background. Until then, the agent answers from the previous one. Scope: `knowledge:write`. */
  updateSource: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The source. */
      source_id: string;
      body: Schemas["SourcePatch"];
    };
    answer: Schemas["Source"];
  };
  /** Delete a source and all that the agent knows from it. Scope: `knowledge:write`. */
  deleteSource: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The source. */
      source_id: string;
    };
    answer: undefined;
  };
  /** Read a source again. If a sync is waiting or running already, no other one is queued. Until it is complete, the agent answers from the last successful one. Scope: `knowledge:write`. */
  syncSource: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The source. */
      source_id: string;
    };
    answer: Schemas["Source"];
  };
  /** List the pages of a source. The pages after the last sync, or those that a running sync has found so far. A text or file has no pages. Scope: `knowledge:read`. */
  listSourcePages: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The source. */
      source_id: string;
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
      /** Only pages with this status. */
      status?: "indexed" | "failed" | "skipped" | "waiting" | undefined;
    };
    answer: Schemas["CrawledPagePage"];
  };
  /** Read the text of a source, in passages. The passages are those that a search finds, in the order of the text: together they are the text that the agent answers from. The list is empty until the source is read for the first time. While it is read again, or if that fails, the list has the previous text. Scope: `knowledge:read`. */
  listSourcePassages: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The source. */
      source_id: string;
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
      /** Only the passages of the page with this URL. */
      url?: string | undefined;
    };
    answer: Schemas["SourcePassagePage"];
  };
  /** List an agent's curated answers. Scope: `knowledge:read`. */
  listAnswers: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
    };
    answer: Schemas["AnswerPage"];
  };
  /** Add a curated question and answer. When a question matches it closely, the agent gives this answer word for word. Scope: `knowledge:write`. */
  createAnswer: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      body: Schemas["AnswerCreate"];
    };
    answer: Schemas["Answer"];
  };
  /** Change a curated answer. Scope: `knowledge:write`. */
  updateAnswer: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The curated answer. */
      answer_id: string;
      body: Schemas["AnswerPatch"];
    };
    answer: Schemas["Answer"];
  };
  /** Delete a curated answer. Scope: `knowledge:write`. */
  deleteAnswer: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The curated answer. */
      answer_id: string;
    };
    answer: undefined;
  };
  /** Search an agent's knowledge. The search asks no model and uses no message of the quota. Scope: `knowledge:read`. */
  searchKnowledge: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      body: Schemas["SearchIn"];
    };
    answer: Schemas["SearchResults"];
  };
  /** List drafts of curated answers. When a human replies to a question that the agent could not answer, question and reply become a draft. Equivalent drafts are merged. The agent uses a draft only after it is accepted. Scope: `knowledge:read`. */
  listDrafts: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
    };
    answer: Schemas["DraftPage"];
  };
  /** Dismiss a draft. Later drafts with the same question are dismissed too. Scope: `knowledge:write`. */
  dismissDraft: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The draft of a curated answer. */
      draft_id: string;
    };
    answer: undefined;
  };
  /** Accept a draft as a curated answer. The agent uses the answer from then on. If the draft was accepted before, its answer is returned unchanged. Scope: `knowledge:write`. */
  acceptDraft: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The draft of a curated answer. */
      draft_id: string;
      body?: Schemas["DraftAccept"] | undefined;
    };
    answer: Schemas["Answer"];
  };
  /** Run questions against an agent. Each question is asked as a visitor would ask it: with the same search, threshold, model and filters. It creates no conversation, event or lead, uses no message of the quota, and calls no tool that changes something. A case may have several turns, fixed or written by a persona that the language model plays; its tools are never called and answer as the case says. Each turn counts toward the cases of a day. The evaluation runs in the background; the ten latest of an agent are kept. Scope: `knowledge:write`. */
  createEvaluation: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      body: Schemas["EvaluationIn"];
    };
    answer: Schemas["Evaluation"];
  };
  /** List an agent's evaluations. Scope: `knowledge:read`. */
  listEvaluations: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
    };
    answer: Schemas["EvaluationPage"];
  };
  /** Add a case to an evaluation. The case runs in the background; the other cases keep their results. It replaces a case that asks the same question after the same ones or, with several turns, one with the same messages or persona and the same tools; with `replaces`, it replaces the case at that position. An evaluation that has ended runs again until the case has its result; one that has failed also runs its other cases. For an evaluation of a `version`, it needs the scope `agents:write`, as creating that one does. An evaluation has at most 500 cases, which take at most 512 KiB together. Scope: `knowledge:write`. */
  addEvaluationCase: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The evaluation. */
      evaluation_id: string;
      /** The position of the case that this one replaces, whatever it asks. By default, it replaces one that asks the same. */
      replaces?: number | undefined;
      body: Schemas["EvaluationCaseIn"];
    };
    answer: Schemas["EvaluationCase"];
  };
  /** Get an evaluation with its results. With `compare_to`, each case shows whether it has become better or worse since that run. Scope: `knowledge:read`. */
  getEvaluation: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The evaluation. */
      evaluation_id: string;
      /** An earlier evaluation of the agent, to compare this one with. */
      compare_to?: string | undefined;
    };
    answer: Schemas["EvaluationResult"];
  };
  /** Cancel or delete an evaluation. Cancels an evaluation that runs. Deletes one that has ended, with its results. Scope: `knowledge:write`. */
  deleteEvaluation: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** The evaluation. */
      evaluation_id: string;
    };
    answer: undefined;
  };
  /** Turn a conversation into a case of an evaluation. Returns the visitor's first 20 messages as the turns of a case, which expect what the agent did: an answer or a hand-off. Correct what it should have done, add what its tools answer, remove personal data, and add the case to an evaluation. Scope: `conversations:read`. */
  getConversationCase: {
    input: {
      /** The conversation. */
      conversation_id: string;
    };
    answer: Schemas["ConversationCase"];
  };
  /** Get the activity of the last days, and how well questions were answered. The figures of the whole workspace or of one agent. Rates of conversations cover those that started in the range. Conversations in the playground do not count. With `Accept: text/csv`, the figures of each day as a CSV file. Scope: `analytics:read`. */
  getAnalyticsOverview: {
    input: {
      /** The number of days, including today. */
      days?: number | undefined;
      /** The agent's id or slug. */
      agent_id?: string | undefined;
    };
    answer: Schemas["AnalyticsOverview"];
  };
  /** Compare the versions of an agent. The figures of each version that has answered, since it was published or rolled out. A conversation counts for the version with which it started, an answer for the version that wrote it. Conversations in the playground do not count, and neither does the draft. Scope: `analytics:read`. */
  listVersionAnalytics: {
    input: {
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
      /** The agent's id or slug. */
      agent_id: string;
    };
    answer: Schemas["AgentVersionAnalyticsPage"];
  };
  /** List the questions that visitors asked without a good answer. Questions without an answer, and questions whose answer was rated down. Questions with the same meaning are one gap. A gap closes when a curated answer to it is added, and opens again when the question is asked again without a good answer. The list covers the 100 most frequent and the 100 latest questions without an answer, and the 200 latest answers that were rated down. Scope: `analytics:read`. */
  listGaps: {
    input: {
      /** The agent's id or slug. */
      agent_id: string;
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
      /** The number of days, including today. */
      days?: number | undefined;
    };
    answer: Schemas["GapPage"];
  };
  /** Find the data of one person. Scope: `privacy:read`. */
  findPerson: {
    input: {
      /** The email of a visitor or of a contact form, in upper or lower case. */
      email?: string | undefined;
      /** The visitor's id in the widget. For a user of the API, it is `api:` and the user's id. */
      anon_id?: string | undefined;
      /** The id of a verified visitor, or the `user.id` of a question over the API. */
      external_id?: string | undefined;
    };
    answer: Schemas["PrivacyFound"];
  };
  /** Erase all data of one person. This cannot be undone. It is recorded in the audit log with a keyed hash of the identifier. Repeating it is safe. Scope: `privacy:write`. */
  erasePerson: {
    input: {
      /** The email of a visitor or of a contact form, in upper or lower case. */
      email?: string | undefined;
      /** The visitor's id in the widget. For a user of the API, it is `api:` and the user's id. */
      anon_id?: string | undefined;
      /** The id of a verified visitor, or the `user.id` of a question over the API. */
      external_id?: string | undefined;
    };
    answer: Schemas["PrivacyErased"];
  };
  /** Download all data of one person. Scope: `privacy:read`. */
  exportPerson: {
    input: {
      /** The email of a visitor or of a contact form, in upper or lower case. */
      email?: string | undefined;
      /** The visitor's id in the widget. For a user of the API, it is `api:` and the user's id. */
      anon_id?: string | undefined;
      /** The id of a verified visitor, or the `user.id` of a question over the API. */
      external_id?: string | undefined;
    };
    answer: Schemas["PrivacyExport"];
  };
  /** Get what is masked in texts, and how often. Scope: `privacy:read`. */
  getRedaction: {
    input: {};
    answer: Schemas["Redaction"];
  };
  /** Change what is masked in texts. Masks the numbers of payment cards, IBANs and matches of your own patterns in what visitors, your team and tools write, before it is stored or sent anywhere. The change is in effect with the next request, and does not change what is stored. What is masked cannot be restored. Scope: `privacy:write`. */
  updateRedaction: {
    input: {
      body: Schemas["RedactionUpdate"];
    };
    answer: Schemas["Redaction"];
  };
  /** Try out what is masked in a text. Masks a text with these settings, or with the workspace's where one is left out. Nothing is stored or counted. Scope: `privacy:read`. */
  previewRedaction: {
    input: {
      body: Schemas["RedactionPreviewIn"];
    };
    answer: Schemas["RedactionPreview"];
  };
  /** List webhook endpoints and the event catalogue. Scope: `webhooks:read`. */
  listWebhooks: {
    input: {};
    answer: Schemas["WebhookList"];
  };
  /** Register a webhook endpoint. The signing secret is in this response and in no other. The key needs the scopes that read the events: conversations:read, leads:read or knowledge:read. Needs webhooks in the plan. Scope: `webhooks:write`. */
  createWebhook: {
    input: {
      body: Schemas["WebhookIn"];
    };
    answer: Schemas["WebhookWithSecret"];
  };
  /** Get a webhook endpoint. Scope: `webhooks:read`. */
  getWebhook: {
    input: {
      /** The webhook endpoint. */
      webhook_id: string;
    };
    answer: Schemas["Webhook"];
  };
  /** Change a webhook endpoint. Unless it only disables the endpoint or describes it, the key needs the scopes that read the events which the endpoint receives, before and after the change. Needs webhooks in the plan. Scope: `webhooks:write`. */
  updateWebhook: {
    input: {
      /** The webhook endpoint. */
      webhook_id: string;
      body: Schemas["WebhookPatch"];
    };
    answer: Schemas["Webhook"];
  };
  /** Delete a webhook endpoint and its delivery log. Nothing is sent to it afterwards. Scope: `webhooks:write`. */
  deleteWebhook: {
    input: {
      /** The webhook endpoint. */
      webhook_id: string;
    };
    answer: undefined;
  };
  /** Rotate a webhook endpoint's secret. For 24 hours both secrets sign each request, so that receivers can switch one by one. The same holds for each further rotation, but at most 5 previous secrets sign at a time. Scope: `webhooks:write`. */
  rotateWebhookSecret: {
    input: {
      /** The webhook endpoint. */
      webhook_id: string;
    };
    answer: Schemas["WebhookWithSecret"];
  };
  /** Send a test event now. Sends a signed test event once and waits for the result, which the response describes. A disabled endpoint can be tested too. Needs webhooks in the plan. Scope: `webhooks:write`. */
  testWebhook: {
    input: {
      /** The webhook endpoint. */
      webhook_id: string;
    };
    answer: Schemas["Delivery"];
  };
  /** List the deliveries of a webhook endpoint, newest first. Scope: `webhooks:read`. */
  listDeliveries: {
    input: {
      /** The webhook endpoint. */
      webhook_id: string;
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
      /** The next_cursor of the previous page. Records that are added meanwhile do not shift the pages. Do not send offset with it. */
      cursor?: string | undefined;
      /** Only deliveries with this status. */
      status?: "pending" | "succeeded" | "failed" | undefined;
    };
    answer: Schemas["DeliveryPage"];
  };
  /** Get the request of a delivery. What the service sends to the endpoint in each attempt. The key needs the scope that reads the event. Scope: `webhooks:read`. */
  getDeliveryRequest: {
    input: {
      /** The delivery. */
      delivery_id: string;
    };
    answer: Schemas["DeliveryRequest"];
  };
  /** Redeliver an event. Sends the event again to the same endpoint, with the same event id, as a new delivery with the whole retry schedule. The key needs the scope that reads the event. Needs webhooks in the plan. Scope: `webhooks:write`. */
  redeliverEvent: {
    input: {
      /** The delivery. */
      delivery_id: string;
    };
    answer: Schemas["Delivery"];
  };
  /** List the events of the workspace, in the order in which they were recorded. Returns the bodies that webhook endpoints receive. Events are recorded while an endpoint is subscribed to their type, and for 7 days after each call of this operation, so the first call starts the recording. Call it again with next_cursor to get later events. An event may be returned twice: ignore ids that you have handled. A key gets the events of conversations, leads and sources if it has the scopes conversations:read, leads:read and knowledge:read. Needs webhooks in the plan. Scope: `webhooks:read`. */
  listEvents: {
    input: {
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** The next_cursor of the previous page or the id of an event, to get the events that were recorded after it. With latest, the page is empty and its next_cursor gives the events that are recorded from then on. Without a cursor, the first page starts at the oldest event that is kept. */
      cursor?: string | undefined;
      /** Only events of these types are returned; separate them by commas. The key must be allowed to read all of them. A page may hold fewer events than limit, even none, although has_more is true. */
      types?: string | undefined;
    };
    answer: Schemas["EventPage"];
  };
}

/** The method and the path of each operation. */
export const ROUTES = {
  getMe: ["GET", "/api/v1/me"],
  getUsage: ["GET", "/api/v1/usage"],
  listAgents: ["GET", "/api/v1/agents"],
  createAgent: ["POST", "/api/v1/agents"],
  getAgent: ["GET", "/api/v1/agents/{agent_id}"],
  updateAgent: ["PATCH", "/api/v1/agents/{agent_id}"],
  deleteAgent: ["DELETE", "/api/v1/agents/{agent_id}"],
  rotateIdentitySecret: ["POST", "/api/v1/agents/{agent_id}/rotate-identity-secret"],
  listAgentVersions: ["GET", "/api/v1/agents/{agent_id}/versions"],
  getAgentVersion: ["GET", "/api/v1/agents/{agent_id}/versions/{version}"],
  updateAgentDraft: ["PATCH", "/api/v1/agents/{agent_id}/versions/draft"],
  deleteAgentDraft: ["DELETE", "/api/v1/agents/{agent_id}/versions/draft"],
  publishAgentDraft: ["POST", "/api/v1/agents/{agent_id}/versions/publish"],
  changeAgentRollout: ["POST", "/api/v1/agents/{agent_id}/rollout"],
  restoreAgentVersion: ["POST", "/api/v1/agents/{agent_id}/versions/{version}/restore"],
  testTool: ["POST", "/api/v1/agents/{agent_id}/tools/{tool_name}/test"],
  listMembers: ["GET", "/api/v1/members"],
  inviteMember: ["POST", "/api/v1/members"],
  getMember: ["GET", "/api/v1/members/{member_id}"],
  updateMember: ["PATCH", "/api/v1/members/{member_id}"],
  removeMember: ["DELETE", "/api/v1/members/{member_id}"],
  renewInvitation: ["POST", "/api/v1/members/{member_id}/invitation"],
  listMemberSessions: ["GET", "/api/v1/members/{member_id}/sessions"],
  endMemberSession: ["DELETE", "/api/v1/members/{member_id}/sessions/{session_id}"],
  listMemberApplications: ["GET", "/api/v1/members/{member_id}/applications"],
  disconnectMemberApplication: ["DELETE", "/api/v1/members/{member_id}/applications/{application_id}"],
  getSignInSettings: ["GET", "/api/v1/sign-in"],
  updateSignInSettings: ["PATCH", "/api/v1/sign-in"],
  listAuditLog: ["GET", "/api/v1/audit"],
  listKeys: ["GET", "/api/v1/keys"],
  createKey: ["POST", "/api/v1/keys"],
  revokeKey: ["DELETE", "/api/v1/keys/{key_id}"],
  askAgent: ["POST", "/api/v1/agents/{agent_id}/messages"],
  sendToolResults: ["POST", "/api/v1/conversations/{conversation_id}/messages/{message_id}/tool-results"],
  resumeAnswer: ["GET", "/api/v1/conversations/{conversation_id}/messages/{message_id}/stream"],
  getTrace: ["GET", "/api/v1/conversations/{conversation_id}/messages/{message_id}/trace"],
  createChatCompletion: ["POST", "/api/v1/openai/chat/completions"],
  listModels: ["GET", "/api/v1/openai/models"],
  listConversations: ["GET", "/api/v1/conversations"],
  startConversation: ["POST", "/api/v1/conversations"],
  getConversation: ["GET", "/api/v1/conversations/{conversation_id}"],
  updateConversation: ["PATCH", "/api/v1/conversations/{conversation_id}"],
  addNote: ["POST", "/api/v1/conversations/{conversation_id}/notes"],
  rateAnswer: ["POST", "/api/v1/conversations/{conversation_id}/messages/{message_id}/feedback"],
  listFeedback: ["GET", "/api/v1/feedback"],
  listMessages: ["GET", "/api/v1/conversations/{conversation_id}/messages"],
  replyToConversation: ["POST", "/api/v1/conversations/{conversation_id}/messages"],
  updateConversations: ["POST", "/api/v1/conversations/bulk"],
  suggestReply: ["POST", "/api/v1/conversations/{conversation_id}/suggested-reply"],
  summarizeConversation: ["POST", "/api/v1/conversations/{conversation_id}/summary"],
  uploadAttachment: ["POST", "/api/v1/attachments"],
  getAttachment: ["GET", "/api/v1/attachments/{attachment_id}"],
  listApprovals: ["GET", "/api/v1/approvals"],
  approveToolCall: ["POST", "/api/v1/approvals/{approval_id}/approve"],
  declineToolCall: ["POST", "/api/v1/approvals/{approval_id}/decline"],
  listSavedReplies: ["GET", "/api/v1/saved-replies"],
  createSavedReply: ["POST", "/api/v1/saved-replies"],
  getSavedReply: ["GET", "/api/v1/saved-replies/{saved_reply_id}"],
  updateSavedReply: ["PATCH", "/api/v1/saved-replies/{saved_reply_id}"],
  deleteSavedReply: ["DELETE", "/api/v1/saved-replies/{saved_reply_id}"],
  getBusinessHours: ["GET", "/api/v1/business-hours"],
  updateBusinessHours: ["PATCH", "/api/v1/business-hours"],
  listTeams: ["GET", "/api/v1/teams"],
  createTeam: ["POST", "/api/v1/teams"],
  getTeam: ["GET", "/api/v1/teams/{team_id}"],
  updateTeam: ["PATCH", "/api/v1/teams/{team_id}"],
  deleteTeam: ["DELETE", "/api/v1/teams/{team_id}"],
  listRoutingRules: ["GET", "/api/v1/routing-rules"],
  createRoutingRule: ["POST", "/api/v1/routing-rules"],
  getRoutingRule: ["GET", "/api/v1/routing-rules/{routing_rule_id}"],
  updateRoutingRule: ["PATCH", "/api/v1/routing-rules/{routing_rule_id}"],
  deleteRoutingRule: ["DELETE", "/api/v1/routing-rules/{routing_rule_id}"],
  listLeads: ["GET", "/api/v1/leads"],
  listSources: ["GET", "/api/v1/agents/{agent_id}/sources"],
  createSource: ["POST", "/api/v1/agents/{agent_id}/sources"],
  uploadSourceFile: ["POST", "/api/v1/agents/{agent_id}/sources/files"],
  putSource: ["PUT", "/api/v1/agents/{agent_id}/sources/by-key/{source_key}"],
  getSource: ["GET", "/api/v1/agents/{agent_id}/sources/{source_id}"],
  updateSource: ["PATCH", "/api/v1/agents/{agent_id}/sources/{source_id}"],
  deleteSource: ["DELETE", "/api/v1/agents/{agent_id}/sources/{source_id}"],
  syncSource: ["POST", "/api/v1/agents/{agent_id}/sources/{source_id}/sync"],
  listSourcePages: ["GET", "/api/v1/agents/{agent_id}/sources/{source_id}/pages"],
  listSourcePassages: ["GET", "/api/v1/agents/{agent_id}/sources/{source_id}/passages"],
  listAnswers: ["GET", "/api/v1/agents/{agent_id}/answers"],
  createAnswer: ["POST", "/api/v1/agents/{agent_id}/answers"],
  updateAnswer: ["PATCH", "/api/v1/agents/{agent_id}/answers/{answer_id}"],
  deleteAnswer: ["DELETE", "/api/v1/agents/{agent_id}/answers/{answer_id}"],
  searchKnowledge: ["POST", "/api/v1/agents/{agent_id}/search"],
  listDrafts: ["GET", "/api/v1/agents/{agent_id}/drafts"],
  dismissDraft: ["POST", "/api/v1/agents/{agent_id}/drafts/{draft_id}/dismiss"],
  acceptDraft: ["POST", "/api/v1/agents/{agent_id}/drafts/{draft_id}/accept"],
  createEvaluation: ["POST", "/api/v1/agents/{agent_id}/evaluations"],
  listEvaluations: ["GET", "/api/v1/agents/{agent_id}/evaluations"],
  addEvaluationCase: ["POST", "/api/v1/agents/{agent_id}/evaluations/{evaluation_id}/cases"],
  getEvaluation: ["GET", "/api/v1/agents/{agent_id}/evaluations/{evaluation_id}"],
  deleteEvaluation: ["DELETE", "/api/v1/agents/{agent_id}/evaluations/{evaluation_id}"],
  getConversationCase: ["GET", "/api/v1/conversations/{conversation_id}/case"],
  getAnalyticsOverview: ["GET", "/api/v1/analytics/overview"],
  listVersionAnalytics: ["GET", "/api/v1/analytics/versions"],
  listGaps: ["GET", "/api/v1/agents/{agent_id}/gaps"],
  findPerson: ["GET", "/api/v1/privacy/visitors"],
  erasePerson: ["DELETE", "/api/v1/privacy/visitors"],
  exportPerson: ["GET", "/api/v1/privacy/export"],
  getRedaction: ["GET", "/api/v1/privacy/redaction"],
  updateRedaction: ["PATCH", "/api/v1/privacy/redaction"],
  previewRedaction: ["POST", "/api/v1/privacy/redaction/preview"],
  listWebhooks: ["GET", "/api/v1/webhooks"],
  createWebhook: ["POST", "/api/v1/webhooks"],
  getWebhook: ["GET", "/api/v1/webhooks/{webhook_id}"],
  updateWebhook: ["PATCH", "/api/v1/webhooks/{webhook_id}"],
  deleteWebhook: ["DELETE", "/api/v1/webhooks/{webhook_id}"],
  rotateWebhookSecret: ["POST", "/api/v1/webhooks/{webhook_id}/rotate-secret"],
  testWebhook: ["POST", "/api/v1/webhooks/{webhook_id}/test"],
  listDeliveries: ["GET", "/api/v1/webhooks/{webhook_id}/deliveries"],
  getDeliveryRequest: ["GET", "/api/v1/webhooks/deliveries/{delivery_id}/request"],
  redeliverEvent: ["POST", "/api/v1/webhooks/deliveries/{delivery_id}/redeliver"],
  listEvents: ["GET", "/api/v1/events"],
} as const satisfies Record<keyof Operations, readonly [method: string, path: string]>;
