// Written by `npm run client` from the service's OpenAPI document. Do not edit.

/** The records, and the bodies that requests have. */
export interface Schemas {
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
  Workspace: {
    /** Its identifier. */
    id: string;
    /** The name of the workspace. */
    name: string;
    /** The short name of the workspace, unique in the deployment. */
    slug: string;
    /** The plan, which sets the limits: see Limits in the guides. */
    plan: "free" | "starter" | "pro" | "enterprise";
    /** The region of its data; null if the operator named none. */
    region: "wnam" | "enam" | "sam" | "weur" | "eeur" | "apac" | "oc" | "afr" | "me" | "eu" | "us" | null;
    limits: Schemas["Limits"];
    /** The limits that replace the plan's. */
    limit_overrides: {
      /** Requests of all keys together, and of each member in the console, in any 60 seconds. */
      requests_per_minute?: number | undefined;
      /** Questions that agents are asked to answer in a calendar month. */
      messages?: number | undefined;
      /** Messages of one conversation, all authors together. */
      messages_per_conversation?: number | undefined;
      /** Messages of visitors in a UTC day. Over the API, only those count that do not use the quota, such as those to a human. */
      visitor_messages_per_day?: number | undefined;
      /** Leads of all agents in a UTC day. */
      leads_per_day?: number | undefined;
      /** Files that visitors upload in a UTC day. */
      visitor_attachments_per_day?: number | undefined;
      /** Messages that your team writes in a UTC day. */
      team_messages_per_day?: number | undefined;
      /** Cases of evaluations in a UTC day. */
      evaluation_cases_per_day?: number | undefined;
      /** Erasures of persons that are started in a UTC day. */
      erasures_per_day?: number | undefined;
      /** Syncs of sources that are requested in a UTC day: of new sources and new texts, and at request. Scheduled ones do not count. */
      syncs_per_day?: number | undefined;
      /** Agents of the workspace. */
      agents?: number | undefined;
      /** API keys that are not revoked. */
      api_keys?: number | undefined;
      /** Members of the team, invited ones included. */
      members?: number | undefined;
      /** Knowledge sources for each agent. */
      sources?: number | undefined;
      /** The most pages that one website source may read. */
      max_pages?: number | undefined;
      /** Curated answers of one agent. */
      answers_per_agent?: number | undefined;
      /** Megabytes of text, extracted from the sources of one agent. */
      knowledge_mb_per_agent?: number | undefined;
      /** Whether events are sent to webhook endpoints. */
      webhooks?: boolean | undefined;
      /** Deliveries to webhook endpoints in a UTC day, with tests and redeliveries. Retries do not count. */
      deliveries_per_day?: number | undefined;
      /** Megabytes of the delivery log. */
      delivery_log_mb?: number | undefined;
      /** Megabytes of the files that messages carry, with 512 bytes for each file. Visitors may use four fifths of them. */
      attachments_mb?: number | undefined;
    };
    retention: Schemas["Retention"];
    /** When it was created. */
    created_at: string;
    /** When it was last changed. */
    updated_at: string;
  };
  /** The limits that apply: those of the plan, with the overrides. */
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
  /** How long records are kept. */
  Retention: {
    /** Conversations are deleted this many days after their last activity; null keeps them. */
    conversations_days: number | null;
    /** Leads are deleted after this many days; null keeps them. */
    leads_days: number | null;
    /** Events and their deliveries are deleted after this many days. */
    event_log_days: number;
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
  WorkspaceCreate: {
    /** The name of the workspace. */
    name: string;
    /** The short name of the workspace, unique in the deployment. */
    slug: string;
    /** The plan, which sets the limits: see Limits in the guides. */
    plan?: "free" | "starter" | "pro" | "enterprise" | undefined;
    /** The region of its data, which cannot change later: see Databases in the guides. */
    region?: "wnam" | "enam" | "sam" | "weur" | "eeur" | "apac" | "oc" | "afr" | "me" | "eu" | "us" | undefined;
    /** The limits that replace the plan's, by name. The value null restores the plan's limit. */
    limits?: {
      /** Requests of all keys together, and of each member in the console, in any 60 seconds. */
      requests_per_minute?: number | null | undefined;
      /** Questions that agents are asked to answer in a calendar month. */
      messages?: number | null | undefined;
      /** Messages of one conversation, all authors together. */
      messages_per_conversation?: number | null | undefined;
      /** Messages of visitors in a UTC day. Over the API, only those count that do not use the quota, such as those to a human. */
      visitor_messages_per_day?: number | null | undefined;
      /** Leads of all agents in a UTC day. */
      leads_per_day?: number | null | undefined;
      /** Files that visitors upload in a UTC day. */
      visitor_attachments_per_day?: number | null | undefined;
      /** Messages that your team writes in a UTC day. */
      team_messages_per_day?: number | null | undefined;
      /** Cases of evaluations in a UTC day. */
      evaluation_cases_per_day?: number | null | undefined;
      /** Erasures of persons that are started in a UTC day. */
      erasures_per_day?: number | null | undefined;
      /** Syncs of sources that are requested in a UTC day: of new sources and new texts, and at request. Scheduled ones do not count. */
      syncs_per_day?: number | null | undefined;
      /** Agents of the workspace. */
      agents?: number | null | undefined;
      /** API keys that are not revoked. */
      api_keys?: number | null | undefined;
      /** Members of the team, invited ones included. */
      members?: number | null | undefined;
      /** Knowledge sources for each agent. */
      sources?: number | null | undefined;
      /** The most pages that one website source may read. */
      max_pages?: number | null | undefined;
      /** Curated answers of one agent. */
      answers_per_agent?: number | null | undefined;
      /** Megabytes of text, extracted from the sources of one agent. */
      knowledge_mb_per_agent?: number | null | undefined;
      /** Whether events are sent to webhook endpoints. */
      webhooks?: boolean | null | undefined;
      /** Deliveries to webhook endpoints in a UTC day, with tests and redeliveries. Retries do not count. */
      deliveries_per_day?: number | null | undefined;
      /** Megabytes of the delivery log. */
      delivery_log_mb?: number | null | undefined;
      /** Megabytes of the files that messages carry, with 512 bytes for each file. Visitors may use four fifths of them. */
      attachments_mb?: number | null | undefined;
    } | undefined;
    /** How long records are kept. The value null restores the default. */
    retention?: {
      /** Conversations are deleted this many days after their last activity; null keeps them. */
      conversations_days?: number | null | undefined;
      /** Leads are deleted after this many days; null keeps them. */
      leads_days?: number | null | undefined;
      /** Events and their deliveries are deleted after this many days. */
      event_log_days?: number | null | undefined;
    } | undefined;
  };
  WorkspacePage: {
    /** The records of this page. */
    data: Schemas["Workspace"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  /** Fields that are left out stay unchanged. */
  WorkspaceUpdate: {
    /** The name of the workspace. */
    name?: string | undefined;
    /** The plan, which sets the limits: see Limits in the guides. */
    plan?: "free" | "starter" | "pro" | "enterprise" | undefined;
    /** The limits that replace the plan's, by name. The value null restores the plan's limit. */
    limits?: {
      /** Requests of all keys together, and of each member in the console, in any 60 seconds. */
      requests_per_minute?: number | null | undefined;
      /** Questions that agents are asked to answer in a calendar month. */
      messages?: number | null | undefined;
      /** Messages of one conversation, all authors together. */
      messages_per_conversation?: number | null | undefined;
      /** Messages of visitors in a UTC day. Over the API, only those count that do not use the quota, such as those to a human. */
      visitor_messages_per_day?: number | null | undefined;
      /** Leads of all agents in a UTC day. */
      leads_per_day?: number | null | undefined;
      /** Files that visitors upload in a UTC day. */
      visitor_attachments_per_day?: number | null | undefined;
      /** Messages that your team writes in a UTC day. */
      team_messages_per_day?: number | null | undefined;
      /** Cases of evaluations in a UTC day. */
      evaluation_cases_per_day?: number | null | undefined;
      /** Erasures of persons that are started in a UTC day. */
      erasures_per_day?: number | null | undefined;
      /** Syncs of sources that are requested in a UTC day: of new sources and new texts, and at request. Scheduled ones do not count. */
      syncs_per_day?: number | null | undefined;
      /** Agents of the workspace. */
      agents?: number | null | undefined;
      /** API keys that are not revoked. */
      api_keys?: number | null | undefined;
      /** Members of the team, invited ones included. */
      members?: number | null | undefined;
      /** Knowledge sources for each agent. */
      sources?: number | null | undefined;
      /** The most pages that one website source may read. */
      max_pages?: number | null | undefined;
      /** Curated answers of one agent. */
      answers_per_agent?: number | null | undefined;
      /** Megabytes of text, extracted from the sources of one agent. */
      knowledge_mb_per_agent?: number | null | undefined;
      /** Whether events are sent to webhook endpoints. */
      webhooks?: boolean | null | undefined;
      /** Deliveries to webhook endpoints in a UTC day, with tests and redeliveries. Retries do not count. */
      deliveries_per_day?: number | null | undefined;
      /** Megabytes of the delivery log. */
      delivery_log_mb?: number | null | undefined;
      /** Megabytes of the files that messages carry, with 512 bytes for each file. Visitors may use four fifths of them. */
      attachments_mb?: number | null | undefined;
    } | undefined;
    /** How long records are kept. The value null restores the default. */
    retention?: {
      /** Conversations are deleted this many days after their last activity; null keeps them. */
      conversations_days?: number | null | undefined;
      /** Leads are deleted after this many days; null keeps them. */
      leads_days?: number | null | undefined;
      /** Events and their deliveries are deleted after this many days. */
      event_log_days?: number | null | undefined;
    } | undefined;
  };
  NewKey: Schemas["Key"] & {
    /** The API key. It is shown only here. */
    key: string;
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
  KeyCreate: {
    /** The purpose of the key. */
    name: string;
    /** The scopes of the key; * for all scopes, including those of later versions. */
    scopes: ("agents:read" | "agents:write" | "chat:write" | "conversations:read" | "conversations:write" | "leads:read" | "knowledge:read" | "knowledge:write" | "analytics:read" | "webhooks:read" | "webhooks:write" | "privacy:read" | "privacy:write" | "keys:write" | "members:read" | "members:write" | "*")[];
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
  AgentSettingsPage: {
    /** The records of this page. */
    data: Schemas["AgentSettings"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
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
  /** `usage.messages` counts the messages of the period. All other values are current. */
  WorkspaceUsage: Schemas["Usage"] & {
    /** The workspace. */
    workspace: {
      /** Its identifier. */
      id: string;
      /** The name of the workspace. */
      name: string;
      /** The short name of the workspace. */
      slug: string;
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
    /** The plan's limits, with the operator's changes. */
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
  WorkspaceUsagePage: {
    /** The records of this page. */
    data: Schemas["WorkspaceUsage"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  Health: {
    /** `degraded` if an entry below is not ok; otherwise `ok`. */
    status: "ok" | "degraded";
    /** The time of the check. */
    checked_at: string;
    /** The databases. */
    databases: {
      /** The binding of the database, such as DB_1. */
      binding: string;
      /** Whether the database answered. */
      ok: boolean;
      /** The duration of the query in milliseconds. */
      duration_ms: number;
    }[];
    /** The queues. */
    queues: {
      /** The binding of the queue. */
      queue: "INGESTION_QUEUE" | "CRAWL_QUEUE" | "ERASURE_QUEUE" | "EMAIL_QUEUE" | "DELIVERY_QUEUE" | "SLOW_DELIVERY_QUEUE";
      /** Whether the queue has no more messages than allowed. */
      ok: boolean;
      /** Null if the platform does not report it. */
      messages: number | null;
      /** The number of messages up to which the queue is healthy. */
      allowed_messages: number | null;
      /** When the oldest message was sent. */
      oldest_message_at: string | null;
    }[];
    /** Background work. */
    work: {
      /** The kind of work. */
      kind: "deliveries" | "slow_deliveries" | "mails" | "sources" | "syncs" | "idle_conversations" | "workspace_erasures" | "person_erasures" | "webhook_erasures";
      /** Whether no work waits longer than allowed. */
      ok: boolean;
      /** The number of waiting items, of which at most 1,000 are counted in each database. */
      waiting: number;
      /** The work that waits longest; null if no work waits. */
      oldest: {
        /** Its identifier. */
        id: string;
        /** The workspace. */
        workspace_id: string;
        /** When the work began to wait. */
        since: string;
        /** How long the work has waited, in seconds. */
        age_seconds: number;
      } | null;
      /** How long the work may wait, in seconds; null if there is no limit. */
      allowed_seconds: number | null;
    }[];
    /** Faults that need an operator. */
    faults: {
      /** The part of the service that fails. */
      part: "mail" | "model";
      /** The name of the error. */
      error: string;
      /** Whether the fault is too rare to need an operator. */
      ok: boolean;
      /** The number of times that the fault happened. */
      count: number;
      /** When the fault first happened. */
      since: string;
      /** How to correct the fault. */
      remedy: string;
    }[];
    /** The model by which knowledge is found by its meaning; null if it is found by its words only. */
    search_model: string | null;
  };
  SecretScan: {
    /** Stored secrets by their kind. */
    secrets: {
      identity_secrets: Schemas["SecretCounts"];
      /** The counts of turnstile_secrets. */
      turnstile_secrets: Schemas["SecretCounts"];
      /** The counts of tool_headers. */
      tool_headers: Schemas["SecretCounts"];
      /** The counts of webhook_secrets. */
      webhook_secrets: Schemas["SecretCounts"];
      /** The counts of sign_in_secrets. */
      sign_in_secrets: Schemas["SecretCounts"];
      /** The counts of unfinished_erasures. */
      unfinished_erasures: Schemas["SecretCounts"];
      /** The counts of kept_responses. */
      kept_responses: Schemas["SecretCounts"];
    };
    /** API keys that are not revoked. */
    api_keys: {
      /** Signed with the current KEY_SECRET. */
      current: number;
      /** Signed with an older KEY_SECRET. */
      outdated: {
        /** Its identifier. */
        id: string;
        /** The workspace. */
        workspace_id: string;
        /** The purpose of the key. */
        name: string;
        /** The key's first 16 characters. */
        prefix: string;
        /** When the key was last used after KEY_SECRET was replaced, to the hour; null if it was not used since then. */
        last_used_at: string | null;
      }[];
    };
    /** The time until which the older keys are needed; null if they are not needed. */
    keep_until: string | null;
    /** The cursor of the next step; null after the last one. */
    next_cursor: string | null;
  };
  /** The counts of identity_secrets. */
  SecretCounts: {
    /** Encrypted with the current key. */
    current: number;
    /** Encrypted with an older key that the deployment has. */
    outdated: number;
    /** Encrypted again by this request. */
    reencrypted: number;
    /** Encrypted with a key that the deployment lacks. */
    unreadable: number;
  };
  AuditPage: Schemas["AuditPageBase"] & {
    /** Null on the last page. */
    next_cursor: string | null;
  };
  AuditEntry: {
    /** Its identifier. */
    id: string;
    /** The fingerprint of the operator's token. */
    actor: string;
    /** The operationId of the operation. */
    operation: string;
    /** The workspace; null for an operation on all of them. */
    workspace_id: string | null;
    /** The present name of the workspace; null if it is erased. */
    workspace_name: string | null;
    /** The agent or key; null if the operation changed neither. */
    target_id: string | null;
    /** The present name of the agent or key; null if it is deleted. */
    target_name: string | null;
    /** The names of the fields that were sent, without their values. */
    fields: string[];
    /** The X-Request-Id of the response. */
    request_id: string;
    /** When it was created. */
    created_at: string;
  };
  AuditPageBase: {
    /** The records of this page. */
    data: Schemas["AuditEntry"][];
    /** How many records there are on all pages. */
    total: number;
    /** How many records a page holds at most. */
    limit: number;
    /** How many records come before the page. */
    offset: number;
    /** Whether there are records after this page. */
    has_more: boolean;
  };
  ImportState: {
    /** If it is `checking`, repeat the request until it is `complete`. */
    state: "importing" | "checking" | "complete";
    /** What does not work in this deployment until it is configured, such as stored secrets that it cannot read. */
    warnings: string[];
  };
  WorkspaceImport: {
    /** The export's first line. */
    header: {
      /** The type of the line. */
      type: "header";
      /** The version of the file format. */
      format: 1;
      /** Identifies the tables and columns of the records. */
      schema: string;
      /** The id of the export. */
      export_id: string;
      /** The workspace. */
      workspace_id: string;
      /** The workspace's slug. */
      slug: string;
      /** When it was exported. */
      exported_at: string;
      /** The secrets of the exporting deployment. */
      key_ids: {
        /** The ids of its values. */
        ENCRYPTION_KEY: string[];
        /** The ids of its values. */
        KEY_SECRET: string[];
      };
    };
    /** Further lines of the export, in any order. */
    records: {
      /** The type of the record. */
      type: string;
      /** The columns of the record. */
      record: Record<string, unknown>;
    }[];
  };
  ImportCompletion: {
    /** The export's first line. */
    header: {
      /** The type of the line. */
      type: "header";
      /** The version of the file format. */
      format: 1;
      /** Identifies the tables and columns of the records. */
      schema: string;
      /** The id of the export. */
      export_id: string;
      /** The workspace. */
      workspace_id: string;
      /** The workspace's slug. */
      slug: string;
      /** When it was exported. */
      exported_at: string;
      /** The secrets of the exporting deployment. */
      key_ids: {
        /** The ids of its values. */
        ENCRYPTION_KEY: string[];
        /** The ids of its values. */
        KEY_SECRET: string[];
      };
    };
    /** The export's last line. */
    end: {
      /** The type of the line. */
      type: "end";
      /** The number of records of each type. */
      counts: Record<string, number>;
      /** The checksum of all records, which does not depend on their order. */
      checksum: string;
    };
  };
  DatabaseList: {
    /** The records of this page. */
    data: Schemas["Database"][];
  };
  Database: {
    /** The binding of the database. */
    binding: string;
    /** The logical shards that it serves, such as `0-63, 128-255`. */
    shards: string;
    /** The logical shards that SHARD_MAP assigns to it. Where it differs from `shards`, change SHARD_MAP. */
    mapped_shards: string;
    /** The workspaces in these shards. */
    workspaces: number;
    /** The size of the database. D1 allows 10 GB. */
    size_bytes: number;
    /** Shards that have left, and whose former rows are not erased yet. */
    former_shards: string;
    /** The move of shards into the database; null if there is none. */
    move: Schemas["ShardMove"] | null;
  };
  ShardMove: {
    /** The logical shards that move, such as `64-127`. */
    shards: string;
    /** The binding of the database that they leave. */
    from: string;
    /** The binding of the database that they move to. */
    to: string;
    /** `copying` writes the rows; `comparing` checks them; `switching` lets one shard after the other be served by the new database. */
    state: "copying" | "comparing" | "switching" | "done";
    /** The number of the comparison of both copies. The first one copies the rows. */
    pass: number;
    /** The rows that this comparison has read. */
    rows_compared: number;
    /** The rows that comparisons wrote into the new database. */
    rows_written: number;
    /** The rows that changed meanwhile, and are to be copied again. */
    changes_waiting: number;
    /** The shards that the new database serves. */
    shards_moved: number;
    /** The shards of the move. */
    shards_total: number;
    /** When the move was started. */
    started_at: string;
  };
  ShardMoveStart: {
    /** A logical shard, or a range of them. */
    shards: string;
  };
  ShardMoveCancelled: {
    /** Whether the copies of the other shards are erased. */
    done: boolean;
  };
}

/** What each operation takes (the parameters of its path and query, and its body) and what it answers. */
export interface Operations {
  /** Add a workspace. */
  createWorkspace: {
    input: {
      body: Schemas["WorkspaceCreate"];
    };
    answer: Schemas["Workspace"];
  };
  /** List all workspaces. */
  listWorkspaces: {
    input: {
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
    };
    answer: Schemas["WorkspacePage"];
  };
  /** Get a workspace. */
  getWorkspace: {
    input: {
      /** The workspace. */
      workspace_id: string;
    };
    answer: Schemas["Workspace"];
  };
  /** Change a workspace's name, plan, limits or retention. */
  updateWorkspace: {
    input: {
      /** The workspace. */
      workspace_id: string;
      body: Schemas["WorkspaceUpdate"];
    };
    answer: Schemas["Workspace"];
  };
  /** Delete a workspace with all its data. */
  deleteWorkspace: {
    input: {
      /** The workspace. */
      workspace_id: string;
    };
    answer: undefined;
  };
  /** Add an API key to a workspace. */
  createKey: {
    input: {
      /** The workspace. */
      workspace_id: string;
      body: Schemas["KeyCreate"];
    };
    answer: Schemas["NewKey"];
  };
  /** List a workspace's API keys. */
  listKeys: {
    input: {
      /** The workspace. */
      workspace_id: string;
    };
    answer: Schemas["KeyPage"];
  };
  /** Revoke a workspace's API key. */
  revokeKey: {
    input: {
      /** The workspace. */
      workspace_id: string;
      /** The API key. */
      key_id: string;
    };
    answer: undefined;
  };
  /** Add an agent to a workspace. */
  createAgent: {
    input: {
      /** The workspace. */
      workspace_id: string;
      body: Schemas["AgentCreate"];
    };
    answer: Schemas["AgentSettings"];
  };
  /** List a workspace's agents. */
  listWorkspaceAgents: {
    input: {
      /** The workspace. */
      workspace_id: string;
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
    };
    answer: Schemas["AgentSettingsPage"];
  };
  /** Get an agent with all its settings. */
  getWorkspaceAgent: {
    input: {
      /** The workspace. */
      workspace_id: string;
      /** The agent. */
      agent_id: string;
    };
    answer: Schemas["AgentSettings"];
  };
  /** Change an agent's settings. */
  updateAgent: {
    input: {
      /** The workspace. */
      workspace_id: string;
      /** The agent. */
      agent_id: string;
      body: Schemas["AgentUpdate"];
    };
    answer: Schemas["AgentSettings"];
  };
  /** Delete an agent and its knowledge. */
  deleteAgent: {
    input: {
      /** The workspace. */
      workspace_id: string;
      /** The agent. */
      agent_id: string;
    };
    answer: undefined;
  };
  /** Replace the secret that verifies an agent's visitors. */
  rotateIdentitySecret: {
    input: {
      /** The workspace. */
      workspace_id: string;
      /** The agent. */
      agent_id: string;
      body?: Schemas["IdentitySecretRotation"] | undefined;
    };
    answer: Schemas["IdentitySecret"];
  };
  /** Get the usage of a workspace in a month. */
  getWorkspaceUsage: {
    input: {
      /** The workspace. */
      workspace_id: string;
      /** A calendar month in UTC. By default it is the current month. */
      period?: string | undefined;
    };
    answer: Schemas["WorkspaceUsage"];
  };
  /** List the usage of all workspaces in a month, for billing. */
  listUsage: {
    input: {
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
      /** A calendar month in UTC. By default it is the current month. */
      period?: string | undefined;
    };
    answer: Schemas["WorkspaceUsagePage"];
  };
  /** Get the health of databases, queues, background work, mail and models. Also accepts a value of the deployment's secret `HEALTH_TOKEN`, which opens no other operation. */
  getHealth: {
    input: {};
    answer: Schemas["Health"];
  };
  /** Count stored secrets by the key that encrypts them. */
  checkSecrets: {
    input: {
      /** The next_cursor of the previous step. */
      cursor?: string | undefined;
    };
    answer: Schemas["SecretScan"];
  };
  /** Encrypt stored secrets with the current key. */
  reencryptSecrets: {
    input: {
      /** The next_cursor of the previous step. */
      cursor?: string | undefined;
    };
    answer: Schemas["SecretScan"];
  };
  /** List what operators did. */
  listAudit: {
    input: {
      /** How many records a page holds at most. */
      limit?: number | undefined;
      /** How many records come before the page. */
      offset?: number | undefined;
      /** The next_cursor of the previous page. Records that are added meanwhile do not shift the pages. Do not send offset with it. */
      cursor?: string | undefined;
      /** The workspace. */
      workspace_id?: string | undefined;
      /** Only entries of the operation with this operationId. */
      operation?: string | undefined;
      /** Only entries of this actor. */
      actor?: string | undefined;
      /** Only entries at or after this time. */
      since?: string | undefined;
    };
    answer: Schemas["AuditPage"];
  };
  /** Export a workspace. */
  exportWorkspace: {
    input: {
      /** The workspace. */
      workspace_id: string;
      /** The cursor in the last line of the previous response. */
      cursor?: string | undefined;
      /** The number of pages of one response. */
      pages?: number | undefined;
    };
    answer: string;
  };
  /** Import a part of a workspace's records. */
  importWorkspace: {
    input: {
      /** The workspace. */
      workspace_id: string;
      body: Schemas["WorkspaceImport"];
    };
    answer: Schemas["ImportState"];
  };
  /** Cancel an import. */
  abandonImport: {
    input: {
      /** The workspace. */
      workspace_id: string;
    };
    answer: undefined;
  };
  /** Compare an import with its export, and complete it. */
  completeImport: {
    input: {
      /** The workspace. */
      workspace_id: string;
      body: Schemas["ImportCompletion"];
    };
    answer: Schemas["ImportState"];
  };
  /** List the databases with their logical shards. */
  listDatabases: {
    input: {};
    answer: Schemas["DatabaseList"];
  };
  /** Start to move logical shards to a database. Repeating it with the same shards changes nothing. `POST` does the work, about a second of it with each call. */
  startShardMove: {
    input: {
      /** The binding of the database that the shards move to. */
      binding: string;
      body: Schemas["ShardMoveStart"];
    };
    answer: Schemas["ShardMove"];
  };
  /** Do the next part of a move of logical shards. It may be interrupted and repeated at any time. Call it until `state` is `done`. */
  continueShardMove: {
    input: {
      /** The binding of the database that the shards move to. */
      binding: string;
    };
    answer: Schemas["ShardMove"];
  };
  /** Cancel a move of logical shards. Shards that the new database serves stay there; move them back as any others. Call it until `done` is true. */
  cancelShardMove: {
    input: {
      /** The binding of the database that the shards move to. */
      binding: string;
    };
    answer: Schemas["ShardMoveCancelled"];
  };
}

/** The method and the path of each operation. */
export const ROUTES = {
  createWorkspace: ["POST", "/operator/v1/workspaces"],
  listWorkspaces: ["GET", "/operator/v1/workspaces"],
  getWorkspace: ["GET", "/operator/v1/workspaces/{workspace_id}"],
  updateWorkspace: ["PATCH", "/operator/v1/workspaces/{workspace_id}"],
  deleteWorkspace: ["DELETE", "/operator/v1/workspaces/{workspace_id}"],
  createKey: ["POST", "/operator/v1/workspaces/{workspace_id}/keys"],
  listKeys: ["GET", "/operator/v1/workspaces/{workspace_id}/keys"],
  revokeKey: ["DELETE", "/operator/v1/workspaces/{workspace_id}/keys/{key_id}"],
  createAgent: ["POST", "/operator/v1/workspaces/{workspace_id}/agents"],
  listWorkspaceAgents: ["GET", "/operator/v1/workspaces/{workspace_id}/agents"],
  getWorkspaceAgent: ["GET", "/operator/v1/workspaces/{workspace_id}/agents/{agent_id}"],
  updateAgent: ["PATCH", "/operator/v1/workspaces/{workspace_id}/agents/{agent_id}"],
  deleteAgent: ["DELETE", "/operator/v1/workspaces/{workspace_id}/agents/{agent_id}"],
  rotateIdentitySecret: ["POST", "/operator/v1/workspaces/{workspace_id}/agents/{agent_id}/rotate-identity-secret"],
  getWorkspaceUsage: ["GET", "/operator/v1/workspaces/{workspace_id}/usage"],
  listUsage: ["GET", "/operator/v1/usage"],
  getHealth: ["GET", "/operator/v1/health"],
  checkSecrets: ["GET", "/operator/v1/secrets"],
  reencryptSecrets: ["POST", "/operator/v1/secrets/reencrypt"],
  listAudit: ["GET", "/operator/v1/audit"],
  exportWorkspace: ["GET", "/operator/v1/workspaces/{workspace_id}/export"],
  importWorkspace: ["POST", "/operator/v1/workspaces/{workspace_id}/import"],
  abandonImport: ["DELETE", "/operator/v1/workspaces/{workspace_id}/import"],
  completeImport: ["POST", "/operator/v1/workspaces/{workspace_id}/import/complete"],
  listDatabases: ["GET", "/operator/v1/databases"],
  startShardMove: ["PUT", "/operator/v1/databases/{binding}/shard-move"],
  continueShardMove: ["POST", "/operator/v1/databases/{binding}/shard-move"],
  cancelShardMove: ["DELETE", "/operator/v1/databases/{binding}/shard-move"],
} as const satisfies Record<keyof Operations, readonly [method: string, path: string]>;
