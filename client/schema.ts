// Written by `npm run client` from the service's OpenAPI document. Do not edit.

/** The records, and the bodies that requests have. */
export interface Schemas {
  EndUser: {
    /** Your stable id for the person; groups that person's conversations. */
    id: string;
    name?: string | null | undefined;
    email?: string | null | undefined;
  };
  Visitor: {
    id: string;
    anon_id: string;
    external_id: string | null;
    name: string | null;
    email: string | null;
    verified: boolean;
  };
  Handoff: {
    id: string;
    conversation_id: string;
    reason: "customer_request" | "missing_knowledge" | "low_confidence" | "unsupported_request" | "tool_failure" | "model_failure";
    summary: string | null;
    trigger_message_id: string | null;
    status: "pending" | "accepted" | "resolved";
    requested_at: string;
    accepted_at: string | null;
    resolved_at: string | null;
  };
  Csat: {
    score: number;
    comment: string | null;
  };
  TeamMember: {
    /** Your stable id for the member of the team. */
    id: string;
    name: string;
  };
  SourceError: {
    code: string;
    message: string;
  };
  KeyIntrospection: {
    workspace: {
      id: string;
      name: string;
      slug: string;
    };
    plan: "free" | "starter" | "pro" | "enterprise";
    api_key: {
      id: string;
      name: string;
      /** The key's first 16 characters. */
      prefix: string;
      scopes: ("agents:read" | "chat:write" | "conversations:read" | "conversations:write" | "leads:read" | "knowledge:read" | "knowledge:write" | "analytics:read" | "webhooks:read" | "webhooks:write" | "privacy:read" | "privacy:write")[];
    };
    rate_limit: {
      requests_per_minute: number;
    };
  };
  Error: {
    error: {
      code: "missing_api_key" | "invalid_api_key" | "revoked_api_key" | "quota_exceeded" | "insufficient_scope" | "plan_required" | "not_found" | "method_not_allowed" | "conflict" | "endpoint_disabled" | "idempotency_conflict" | "payload_too_large" | "validation_error" | "rate_limited" | "internal_error" | "unavailable";
      /** What to do about it. */
      message: string;
      /** Of a 500 or 503 to a question: it is kept, and will be answered in this conversation. Without it, nothing of the question is kept. */
      conversation_id?: string | undefined;
      /** The answer that will be written: resume its stream. */
      message_id?: string | undefined;
      /** Equal to the header X-Request-Id. */
      request_id: string;
    };
  };
  Usage: {
    plan: "free" | "starter" | "pro" | "enterprise";
    /** The calendar month, UTC; the end is the next one's start. */
    period: {
      start: string;
      end: string;
    };
    limits: Schemas["Limits"];
    /** `sources`, `pages` and `answers` are those of all agents. */
    usage: {
      messages: number;
      visitor_messages_today: number;
      leads_today: number;
      team_messages_today: number;
      agents: number;
      api_keys: number;
      sources: number;
      pages: number;
      answers: number;
      /** Megabytes of text of the agent that has the most, as of the last sync of each source. */
      knowledge_mb_per_agent: number;
    };
    remaining: {
      messages: number;
    };
  };
  Limits: {
    requests_per_minute: number;
    /** Questions that agents are asked to answer, a calendar month. */
    messages: number;
    /** Messages of one conversation, all authors together. */
    messages_per_conversation: number;
    /** Messages of visitors on every channel but the API, a UTC day, whether the agent or a human answers. */
    visitor_messages_per_day: number;
    /** Leads of all agents, a UTC day. */
    leads_per_day: number;
    /** Messages that your team writes, a UTC day. */
    team_messages_per_day: number;
    agents: number;
    /** API keys that are not revoked. */
    api_keys: number;
    /** Knowledge sources for each agent. */
    sources: number;
    /** The most pages that one website source may read. */
    max_pages: number;
    /** Curated answers of one agent. */
    answers_per_agent: number;
    /** Megabytes of text, extracted from the sources of one agent. */
    knowledge_mb_per_agent: number;
    webhooks: boolean;
  };
  AgentPage: {
    data: Schemas["Agent"][];
    total: number;
    limit: number;
    offset: number;
    has_more: boolean;
  };
  Agent: {
    id: string;
    name: string;
    slug: string;
    description: string | null;
    /** A paused agent answers no questions. */
    status: "active" | "paused";
    language: string;
    welcome_message: string;
    /** What the visitor reads when a human is needed. Where the operator has set none, the sentence depends on the reason and on the visitor's language; this is the one for a question without an answer. */
    handoff_message: string;
    /** Answers below it are handed to a human. */
    confidence_threshold: number;
    channels: ("widget" | "hosted" | "email" | "api" | "playground")[];
    sources_count: number;
    answers_count: number;
    created_at: string;
    updated_at: string;
  };
  ValidationError: Schemas["Error"] & {
    detail: Schemas["ValidationItem"][];
  };
  ValidationItem: {
    loc: (string | number)[];
    msg: string;
    type: string;
    input?: unknown | undefined;
    ctx?: Record<string, unknown> | undefined;
  };
  ChatAnswer: {
    answer: string;
    citations: Schemas["Citation"][];
    /** 0 to 1: how likely the answer is right. */
    confidence: number;
    needs_human: boolean;
    conversation_id: string;
    /** The agent's message; null when a human has the conversation and the agent stayed silent. */
    message_id: string | null;
    status: "open" | "ai_handled" | "needs_human" | "human_active" | "resolved";
    /** Why a human is needed; null where none is, or where the team took the conversation itself. */
    handoff_reason: "customer_request" | "missing_knowledge" | "low_confidence" | "unsupported_request" | "tool_failure" | "model_failure" | null;
  };
  Citation: {
    title: string;
    url: string | null;
    /** The source, or the curated answer, that it came from. */
    source_id: string;
    type: "page" | "text" | "answer";
    snippet: string;
    score: number;
  };
  /**
   * Server-Sent Events, each with an `id` and one line of JSON:
   *
   * - `start` {conversation_id, message_id}: the question is stored and will be answered. When it comes again (after a reconnection), the answer starts over: discard what came before. `message_id` is null where a human has the conversation.
   * - `delta` {text}: the next part of the answer. All parts joined are the answer.
   * - `done`: the whole answer, as without streaming. It is the last event.
   * - `error` {error: {code, message, request_id}}: our side failed. It is the last event of this response.
   *
   * A comment every 15 seconds keeps the connection open. A client that hangs up does not stop the answer.
   */
  ChatEvents: string;
  ChatIn: {
    message: string;
    /** Continues an API conversation; omit to start a new one. */
    conversation_id?: string | null | undefined;
    user?: Schemas["EndUser"] | null | undefined;
    /** True streams the answer as Server-Sent Events. */
    stream?: boolean | undefined;
  };
  ConversationWithMessages: Schemas["Conversation"] & {
    /** The latest 100, oldest first, with the team's notes between them. */
    messages: Schemas["Message"][];
    /** Whether there are earlier messages: see `GET …/messages`. */
    has_more_messages: boolean;
  };
  Message: {
    id: string;
    conversation_id: string;
    /** user is the visitor, human the team; a note is the team's alone: no visitor and no model ever reads it. */
    role: "user" | "assistant" | "human" | "system" | "note";
    author: {
      type: "visitor" | "agent" | "member" | "system";
      id: string | null;
      name: string | null;
    };
    content: string;
    citations: Schemas["Citation"][];
    confidence: number | null;
    needs_human: boolean;
    created_at: string;
  };
  Conversation: {
    id: string;
    agent_id: string;
    channel: "widget" | "hosted" | "email" | "api" | "playground";
    status: "open" | "ai_handled" | "needs_human" | "human_active" | "resolved";
    subject: string | null;
    tags: string[];
    /** The member of the team who has it. */
    assignee: Schemas["TeamMember"] | null;
    visitor: Schemas["Visitor"] | null;
    /** Without notes. */
    message_count: number;
    /** The visitor's messages that wait for the team to read them: the one that handed the conversation off, and those after it. A reply and a new status mark them read. */
    unread_count: number;
    last_message_preview: string | null;
    last_message_at: string;
    /** The latest hand-off to a human. */
    handoff: Schemas["Handoff"] | null;
    csat: Schemas["Csat"] | null;
    resolved_at: string | null;
    resolved_by: "ai" | "human" | "api" | "auto" | null;
    first_human_reply_at: string | null;
    reopened_count: number;
    created_at: string;
    updated_at: string;
  };
  ConversationIn: {
    /** The agent that has the conversation once you give it to it; by mail, its mailbox is the sender. */
    agent_id: string;
    channel: "email" | "api";
    /** Whom a mail goes to: email needs it. */
    to?: {
      email: string;
      name?: string | null | undefined;
    } | null | undefined;
    /** On the channel api: your user whose conversation it is. */
    user?: {
      /** Your stable id for the person; groups that person's conversations. */
      id: string;
      name?: string | null | undefined;
      email?: string | null | undefined;
    } | null | undefined;
    /** Without it, a mail has the beginning of its text as the subject. */
    subject?: string | null | undefined;
    content: string;
    /** Who on the team writes. Visitors see the name. */
    author?: {
      /** Your stable id for the member of the team. */
      id: string;
      name: string;
    } | null | undefined;
  };
  ConversationPage: Schemas["ConversationPageBase"] & {
    /** Null on the last page. */
    next_cursor: string | null;
  };
  ConversationPageBase: {
    data: Schemas["Conversation"][];
    total: number;
    limit: number;
    offset: number;
    has_more: boolean;
  };
  MessagePage: Schemas["MessagePageBase"] & {
    /** Null on the last page. */
    next_cursor: string | null;
  };
  MessagePageBase: {
    data: Schemas["Message"][];
    total: number;
    limit: number;
    offset: number;
    has_more: boolean;
  };
  ConversationUpdate: {
    /** open gives the conversation back to the agent. */
    status?: "open" | "resolved" | "needs_human" | "human_active" | null | undefined;
    /** Replaces the tags; null leaves them. */
    tags?: string[] | null | undefined;
    /** Who has it from now on; null takes it from everyone. */
    assignee?: {
      /** Your stable id for the member of the team. */
      id: string;
      name: string;
    } | null | undefined;
    /** Whether the team has read it: true sets unread_count to 0, false to at least 1. It is no activity. */
    read?: boolean | null | undefined;
  };
  Reply: Schemas["Message"] & {
    conversation_status: "open" | "ai_handled" | "needs_human" | "human_active" | "resolved";
  };
  ReplyIn: {
    content: string;
    resolve?: boolean | undefined;
    /** Who on the team writes. Visitors see the name. */
    author?: {
      /** Your stable id for the member of the team. */
      id: string;
      name: string;
    } | null | undefined;
  };
  NoteIn: {
    content: string;
    /** Who on the team writes. */
    author?: {
      /** Your stable id for the member of the team. */
      id: string;
      name: string;
    } | null | undefined;
  };
  LeadPage: Schemas["LeadPageBase"] & {
    /** Null on the last page. */
    next_cursor: string | null;
  };
  Lead: {
    id: string;
    agent_id: string;
    conversation_id: string | null;
    visitor_id: string | null;
    name: string | null;
    email: string | null;
    phone: string | null;
    message: string | null;
    custom_fields: Record<string, string | number | boolean | null>;
    source_url: string | null;
    created_at: string;
  };
  LeadPageBase: {
    data: Schemas["Lead"][];
    total: number;
    limit: number;
    offset: number;
    has_more: boolean;
  };
  SourcePage: {
    data: Schemas["Source"][];
    total: number;
    limit: number;
    offset: number;
    has_more: boolean;
  };
  Source: {
    id: string;
    agent_id: string;
    type: "website" | "url" | "text";
    name: string;
    url: string | null;
    status: "pending" | "processing" | "ready" | "failed";
    schedule: "manual" | "daily" | "weekly";
    max_pages: number;
    pages_found: number;
    pages_indexed: number;
    pages_failed: number;
    pages_skipped: number;
    chunks_count: number;
    error: Schemas["SourceError"] | null;
    last_synced_at: string | null;
    next_sync_at: string | null;
    created_at: string;
    updated_at: string;
  };
  SourceCreate: {
    type: "website" | "url" | "text";
    name: string;
    /** Required when type is website or url. */
    url?: string | null | undefined;
    /** Required when type is text; at most 5 MB (5,242,880 bytes) in UTF-8. */
    text?: string | null | undefined;
    /** For websites; the plan's cap applies. */
    max_pages?: number | undefined;
    schedule?: "manual" | "daily" | "weekly" | undefined;
  };
  CrawledPagePage: {
    data: Schemas["CrawledPage"][];
    total: number;
    limit: number;
    offset: number;
    has_more: boolean;
  };
  CrawledPage: {
    url: string;
    title: string | null;
    status: "indexed" | "failed" | "skipped" | "waiting";
    /** Why it failed or was skipped, such as http_404, timeout, robots or noindex. */
    reason: string | null;
    /** Whether the agent answers from it: also when it failed now, but was read before. */
    in_use: boolean;
  };
  AnswerPage: {
    data: Schemas["Answer"][];
    total: number;
    limit: number;
    offset: number;
    has_more: boolean;
  };
  Answer: {
    id: string;
    agent_id: string;
    question: string;
    answer: string;
    created_at: string;
    updated_at: string;
  };
  AnswerCreate: {
    question: string;
    answer: string;
  };
  SearchResults: {
    data: Schemas["SearchResult"][];
  };
  SearchResult: {
    title: string;
    url: string | null;
    /** The source, or the curated answer, that it came from. */
    source_id: string;
    type: "page" | "text" | "answer";
    content: string;
    score: number;
  };
  SearchIn: {
    query: string;
    limit?: number | undefined;
  };
  AnalyticsOverview: {
    /** Whole UTC days, both included; the last is today. */
    range: {
      days: number;
      from: string;
      to: string;
    };
    agent_id: string | null;
    totals: Schemas["AnalyticsTotals"];
    rates: Schemas["AnalyticsRates"];
    csat: {
      average: number | null;
      count: number;
    };
    /** How answers were rated: each rating as it is now, on the day it was first given. */
    feedback: {
      up: number;
      down: number;
    };
    times: {
      /** From a conversation's start to its first reply, within 5 %. Null without any. */
      median_first_response_seconds: number | null;
      /** From a conversation's start to its first resolution, within 5 %. Null without any. */
      median_resolution_seconds: number | null;
    };
    handoff_reasons: {
      customer_request: number;
      missing_knowledge: number;
      low_confidence: number;
      unsupported_request: number;
      tool_failure: number;
      model_failure: number;
    };
    /** Conversations that started. */
    by_channel: {
      widget: number;
      hosted: number;
      email: number;
      api: number;
      playground: number;
    };
    /** All conversations as they are now, whatever the range. */
    by_status: {
      open: number;
      ai_handled: number;
      needs_human: number;
      human_active: number;
      resolved: number;
    };
    /** Each day, oldest first. */
    daily: Schemas["AnalyticsDay"][];
    /** At most 10 questions that knowledge was missing for, most frequent first. */
    top_unanswered: Schemas["UnansweredQuestion"][];
    /** The same number of days before. */
    previous: {
      totals: Schemas["AnalyticsTotals"];
      rates: Schemas["AnalyticsRates"];
    };
  };
  AnalyticsTotals: {
    /** Conversations that started. */
    conversations: number;
    messages: number;
    ai_replies: number;
    human_replies: number;
    leads: number;
    handoffs: number;
  };
  AnalyticsRates: {
    /** Conversations resolved without hand-off or human reply, of those that the agent took part in. Null without any. */
    ai_resolution: number | null;
    /** Such resolutions not reopened within 7 days, of those on days more than 7 days ago. Null without any. */
    durable_resolution_7d: number | null;
    /** Conversations handed to a human, of all. Null without any. */
    handoff: number | null;
    /** Conversations reopened, of those resolved. Null without any. */
    reopen: number | null;
    /** Questions handed off for missing knowledge, of those that the agent took. Null without any. */
    unanswered: number | null;
  };
  AnalyticsDay: {
    date: string;
    /** Conversations that started. */
    conversations: number;
    messages: number;
    ai_replies: number;
    human_replies: number;
    leads: number;
    handoffs: number;
  };
  UnansweredQuestion: {
    question: string;
    count: number;
  };
  PrivacyFound: {
    identifier: Schemas["PrivacyIdentifier"];
    visitors: Schemas["Visitor"][];
    /** Visitors from whom the email was left, and another one too: not counted, and found by their anon_id. */
    shared_visitors: Schemas["Visitor"][];
    counts: {
      conversations: number;
      messages: number;
      leads: number;
      handoffs: number;
    };
  };
  PrivacyIdentifier: {
    type: "email" | "anon_id" | "external_id";
    value: string;
  };
  PrivacyErased: {
    audit_id: string;
    erased_at: string;
    /** How many records of each kind were erased. */
    deleted: Record<string, number>;
  };
  PrivacyExport: {
    identifier: Schemas["PrivacyIdentifier"];
    exported_at: string;
    visitors: Schemas["Visitor"][];
    conversations: (Schemas["Conversation"] & {
      handoffs: unknown[];
      feedback: Schemas["Feedback"][];
      messages: Schemas["Message"][];
      notes: Schemas["Message"][];
    })[];
    leads: unknown[];
  };
  Feedback: {
    id: string;
    agent_id: string;
    conversation_id: string;
    message_id: string;
    /** `visitor`, or the id of the API key that rated. */
    author: string;
    rating: "up" | "down";
    comment: string | null;
    created_at: string;
    updated_at: string;
  };
  WebhookList: Schemas["WebhookPage"] & {
    /** The event catalogue. */
    event_types: Schemas["WebhookEventType"][];
  };
  Webhook: {
    id: string;
    url: string;
    events: string[];
    description: string | null;
    enabled: boolean;
    /** manual, failing or gone; null while it is enabled. */
    disabled_reason: string | null;
    disabled_at: string | null;
    /** Failed attempts since the last success. */
    failure_streak: number;
    last_success_at: string | null;
    created_at: string;
    updated_at: string;
  };
  WebhookEventType: {
    type: "conversation.created" | "conversation.resolved" | "message.ai_replied" | "message.human_replied" | "handoff.created" | "lead.created" | "source.synced" | "source.failed";
    description: string;
    example: Schemas["WebhookEvent"];
  };
  WebhookEvent: {
    /** Equal to the header webhook-id; the same on every attempt and redelivery. */
    id: string;
    type: "conversation.created" | "conversation.resolved" | "message.ai_replied" | "message.human_replied" | "handoff.created" | "lead.created" | "source.synced" | "source.failed";
    created_at: string;
    api_version: "1.0.0";
    workspace_id: string;
    /** The record as it was when the event happened. */
    data: (Schemas["Conversation"] | Schemas["Message"] | Schemas["Handoff"] | Schemas["Lead"] | Schemas["Source"]) & {
      /** Present when texts were cut to keep the event under 64 KB. */
      truncated?: true | undefined;
    };
  };
  WebhookPage: {
    data: Schemas["Webhook"][];
    total: number;
    limit: number;
    offset: number;
    has_more: boolean;
  };
  WebhookWithSecret: Schemas["Webhook"] & {
    /** Signs each request (Standard Webhooks). Shown here and never again. */
    secret: string;
  };
  WebhookIn: {
    /** HTTPS on a public host. */
    url: string;
    /** The types to receive, or the single value * for all, those of later versions included. */
    events: ("conversation.created" | "conversation.resolved" | "message.ai_replied" | "message.human_replied" | "handoff.created" | "lead.created" | "source.synced" | "source.failed" | "*")[];
    description?: string | null | undefined;
    enabled?: boolean | undefined;
  };
  /** A field that is left out or null stays as it is, but for description. */
  WebhookPatch: {
    /** HTTPS on a public host. */
    url?: string | null | undefined;
    /** The types to receive, or the single value * for all, those of later versions included. */
    events?: ("conversation.created" | "conversation.resolved" | "message.ai_replied" | "message.human_replied" | "handoff.created" | "lead.created" | "source.synced" | "source.failed" | "*")[] | null | undefined;
    /** Null clears it. */
    description?: string | null | undefined;
    /** true also resets the failure streak; false fails the pending deliveries. */
    enabled?: boolean | null | undefined;
  };
  Delivery: {
    id: string;
    webhook_id: string;
    event_id: string;
    event_type: string;
    status: "pending" | "succeeded" | "failed";
    trigger: "event" | "test" | "redelivery";
    attempt_count: number;
    next_attempt_at: string | null;
    created_at: string;
    completed_at: string | null;
    /** Oldest first. */
    attempts: Schemas["DeliveryAttempt"][];
  };
  DeliveryAttempt: {
    number: number;
    started_at: string;
    duration_ms: number;
    response_status: number | null;
    /** Its first 8 KiB. */
    response_body: string | null;
    response_truncated: boolean;
    error: "timeout" | "connection_failed" | "blocked_url" | "http_error" | "secret_unreadable" | "endpoint_disabled" | null;
    url: string;
  };
  DeliveryPage: Schemas["DeliveryPageBase"] & {
    /** Null on the last page. */
    next_cursor: string | null;
  };
  DeliveryPageBase: {
    data: Schemas["Delivery"][];
    total: number;
    limit: number;
    offset: number;
    has_more: boolean;
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
  /** List the workspace's agents. Scope: `agents:read`. */
  listAgents: {
    input: {
      limit?: number | undefined;
      offset?: number | undefined;
    };
    answer: Schemas["AgentPage"];
  };
  /** One agent. Scope: `agents:read`. */
  getAgent: {
    input: {
      agent_id: string;
    };
    answer: Schemas["Agent"];
  };
  /** Ask an agent. The agent answers from its knowledge, or hands the conversation to a human. Each question that it is asked to answer counts toward the month's message quota. Scope: `chat:write`. */
  askAgent: {
    input: {
      agent_id: string;
      body: Schemas["ChatIn"];
    };
    answer: Schemas["ChatAnswer"];
  };
  /** Resume the stream of an answer. Resumes a stream that broke off, or repeats one that has ended. It uses no message of the quota. 204: the event that you have was the last. Scope: `conversations:read`. */
  resumeAnswer: {
    input: {
      conversation_id: string;
      message_id: string;
    };
    answer: Schemas["ChatEvents"];
  };
  /** Start a conversation as the team. Your team writes first, by mail from the agent's mailbox, or over the API. The conversation is with humans until it is resolved or set to open. Answers to the mail come back to it. Scope: `conversations:write`. */
  startConversation: {
    input: {
      body: Schemas["ConversationIn"];
    };
    answer: Schemas["ConversationWithMessages"];
  };
  /** List conversations, by last activity. Scope: `conversations:read`. */
  listConversations: {
    input: {
      limit?: number | undefined;
      offset?: number | undefined;
      /** The next_cursor of the page before. It is steady under inserts; leave offset out beside it. */
      cursor?: string | undefined;
      agent_id?: string | undefined;
      status?: "open" | "ai_handled" | "needs_human" | "human_active" | "resolved" | undefined;
      channel?: "widget" | "hosted" | "email" | "api" | "playground" | undefined;
      /** Only conversations with activity at or after it. */
      updated_since?: string | undefined;
      /** Only conversations of this member of the team. */
      assignee_id?: string | undefined;
      /** Only conversations with unread messages: their `total` is the number of an inbox. */
      unread?: "true" | undefined;
    };
    answer: Schemas["ConversationPage"];
  };
  /** One conversation with its latest messages. Scope: `conversations:read`. */
  getConversation: {
    input: {
      conversation_id: string;
    };
    answer: Schemas["ConversationWithMessages"];
  };
  /** Change a conversation's status, tags or assignee. What is left out stays as it is. Scope: `conversations:write`. */
  updateConversation: {
    input: {
      conversation_id: string;
      body: Schemas["ConversationUpdate"];
    };
    answer: Schemas["Conversation"];
  };
  /** List the messages of a conversation. With the team's notes between them. The first page holds the latest messages, the next one those before them. Each page is oldest first. Scope: `conversations:read`. */
  listMessages: {
    input: {
      conversation_id: string;
      limit?: number | undefined;
      /** The next_cursor of the page before. It is steady under inserts; leave offset out beside it. */
      cursor?: string | undefined;
    };
    answer: Schemas["MessagePage"];
  };
  /** Reply as a human on the team. The agent stays silent from then on, until the conversation is resolved or its status is set to open. Scope: `conversations:write`. */
  replyToConversation: {
    input: {
      conversation_id: string;
      body: Schemas["ReplyIn"];
    };
    answer: Schemas["Reply"];
  };
  /** Add a note for the team. A note stands between the messages and is the team's alone: no visitor reads it, no model, and no event carries it. The status stays as it is. Scope: `conversations:write`. */
  addNote: {
    input: {
      conversation_id: string;
      body: Schemas["NoteIn"];
    };
    answer: Schemas["Message"];
  };
  /** List and search leads, newest first. Scope: `leads:read`. */
  listLeads: {
    input: {
      limit?: number | undefined;
      offset?: number | undefined;
      /** The next_cursor of the page before. It is steady under inserts; leave offset out beside it. */
      cursor?: string | undefined;
      agent_id?: string | undefined;
      /** Any part of name, email, phone or custom fields, in any case; of a phone number also its digits alone. */
      q?: string | undefined;
      /** Only leads left at or after it. */
      created_since?: string | undefined;
    };
    answer: Schemas["LeadPage"];
  };
  /** List an agent's knowledge sources. Scope: `knowledge:read`. */
  listSources: {
    input: {
      agent_id: string;
    };
    answer: Schemas["SourcePage"];
  };
  /** Add a knowledge source. Its ingestion is queued: poll the list until its status is ready or failed. Scope: `knowledge:write`. */
  createSource: {
    input: {
      agent_id: string;
      body: Schemas["SourceCreate"];
    };
    answer: Schemas["Source"];
  };
  /** Read a source again. A sync that is waiting or running is joined. Until the new one is complete, the agent answers from the last good one. Scope: `knowledge:write`. */
  syncSource: {
    input: {
      agent_id: string;
      source_id: string;
    };
    answer: Schemas["Source"];
  };
  /** Delete a source and all that the agent knows from it. Scope: `knowledge:write`. */
  deleteSource: {
    input: {
      agent_id: string;
      source_id: string;
    };
    answer: undefined;
  };
  /** List what became of a source's pages. As the last sync left them, or as the running one has found them so far. A text source has none. Scope: `knowledge:read`. */
  listSourcePages: {
    input: {
      agent_id: string;
      source_id: string;
      limit?: number | undefined;
      offset?: number | undefined;
      status?: "indexed" | "failed" | "skipped" | "waiting" | undefined;
    };
    answer: Schemas["CrawledPagePage"];
  };
  /** List an agent's curated answers. Scope: `knowledge:read`. */
  listAnswers: {
    input: {
      agent_id: string;
      limit?: number | undefined;
      offset?: number | undefined;
    };
    answer: Schemas["AnswerPage"];
  };
  /** Add a curated question and answer. When a question matches it closely, the agent gives this answer word for word. Scope: `knowledge:write`. */
  createAnswer: {
    input: {
      agent_id: string;
      body: Schemas["AnswerCreate"];
    };
    answer: Schemas["Answer"];
  };
  /** Delete a curated answer. Scope: `knowledge:write`. */
  deleteAnswer: {
    input: {
      agent_id: string;
      answer_id: string;
    };
    answer: undefined;
  };
  /** What retrieval finds for a question. No model is asked and no message of the quota is used. Scope: `knowledge:read`. */
  searchKnowledge: {
    input: {
      agent_id: string;
      body: Schemas["SearchIn"];
    };
    answer: Schemas["SearchResults"];
  };
  /** Activity of the last days, and how well questions were answered. Of the whole workspace or of one agent. Rates of conversations cover those that started in the range. Scope: `analytics:read`. */
  getAnalyticsOverview: {
    input: {
      days?: number | undefined;
      agent_id?: string | undefined;
    };
    answer: Schemas["AnalyticsOverview"];
  };
  /** Find the data of one person. Scope: `privacy:read`. */
  findPerson: {
    input: {
      /** A visitor's or contact form's email, in any case. */
      email?: string | undefined;
      /** The widget's visitor id; API users are api:<user.id>. */
      anon_id?: string | undefined;
      /** A verified id, or the user.id sent to the ask operation. */
      external_id?: string | undefined;
    };
    answer: Schemas["PrivacyFound"];
  };
  /** Erase all data of one person. Cannot be undone. It is recorded in the audit log with a keyed hash of the identifier; erasing again is safe. Scope: `privacy:write`. */
  erasePerson: {
    input: {
      /** A visitor's or contact form's email, in any case. */
      email?: string | undefined;
      /** The widget's visitor id; API users are api:<user.id>. */
      anon_id?: string | undefined;
      /** A verified id, or the user.id sent to the ask operation. */
      external_id?: string | undefined;
    };
    answer: Schemas["PrivacyErased"];
  };
  /** Download all data of one person. Scope: `privacy:read`. */
  exportPerson: {
    input: {
      /** A visitor's or contact form's email, in any case. */
      email?: string | undefined;
      /** The widget's visitor id; API users are api:<user.id>. */
      anon_id?: string | undefined;
      /** A verified id, or the user.id sent to the ask operation. */
      external_id?: string | undefined;
    };
    answer: Schemas["PrivacyExport"];
  };
  /** List webhook endpoints and the event catalogue. Scope: `webhooks:read`. */
  listWebhooks: {
    input: {};
    answer: Schemas["WebhookList"];
  };
  /** Register a webhook endpoint. The signing secret is in this response and in no other. Needs webhooks in the plan. Scope: `webhooks:write`. */
  createWebhook: {
    input: {
      body: Schemas["WebhookIn"];
    };
    answer: Schemas["WebhookWithSecret"];
  };
  /** One webhook endpoint. Scope: `webhooks:read`. */
  getWebhook: {
    input: {
      webhook_id: string;
    };
    answer: Schemas["Webhook"];
  };
  /** Change a webhook endpoint. Needs webhooks in the plan. Scope: `webhooks:write`. */
  updateWebhook: {
    input: {
      webhook_id: string;
      body: Schemas["WebhookPatch"];
    };
    answer: Schemas["Webhook"];
  };
  /** Delete a webhook endpoint and its delivery log. Nothing is sent to it afterwards. Scope: `webhooks:write`. */
  deleteWebhook: {
    input: {
      webhook_id: string;
    };
    answer: undefined;
  };
  /** Rotate a webhook endpoint's secret. For 24 hours both secrets sign each request, so that receivers can switch one by one. Scope: `webhooks:write`. */
  rotateWebhookSecret: {
    input: {
      webhook_id: string;
    };
    answer: Schemas["WebhookWithSecret"];
  };
  /** Send a test event now. It is signed and sent once while you wait, to a disabled endpoint too. The response says whether it arrived. Needs webhooks in the plan. Scope: `webhooks:write`. */
  testWebhook: {
    input: {
      webhook_id: string;
    };
    answer: Schemas["Delivery"];
  };
  /** List the deliveries of a webhook endpoint, newest first. Scope: `webhooks:read`. */
  listDeliveries: {
    input: {
      webhook_id: string;
      limit?: number | undefined;
      offset?: number | undefined;
      /** The next_cursor of the page before. It is steady under inserts; leave offset out beside it. */
      cursor?: string | undefined;
      status?: "pending" | "succeeded" | "failed" | undefined;
    };
    answer: Schemas["DeliveryPage"];
  };
  /** Redeliver an event. A new delivery of the same event, with the same event id, to the same endpoint, with the whole retry schedule. Needs webhooks in the plan. Scope: `webhooks:write`. */
  redeliverEvent: {
    input: {
      delivery_id: string;
    };
    answer: Schemas["Delivery"];
  };
}

/** The method and the path of each operation. */
export const ROUTES = {
  getMe: ["GET", "/api/v1/me"],
  getUsage: ["GET", "/api/v1/usage"],
  listAgents: ["GET", "/api/v1/agents"],
  getAgent: ["GET", "/api/v1/agents/{agent_id}"],
  askAgent: ["POST", "/api/v1/agents/{agent_id}/messages"],
  resumeAnswer: ["GET", "/api/v1/conversations/{conversation_id}/messages/{message_id}/stream"],
  startConversation: ["POST", "/api/v1/conversations"],
  listConversations: ["GET", "/api/v1/conversations"],
  getConversation: ["GET", "/api/v1/conversations/{conversation_id}"],
  updateConversation: ["PATCH", "/api/v1/conversations/{conversation_id}"],
  listMessages: ["GET", "/api/v1/conversations/{conversation_id}/messages"],
  replyToConversation: ["POST", "/api/v1/conversations/{conversation_id}/messages"],
  addNote: ["POST", "/api/v1/conversations/{conversation_id}/notes"],
  listLeads: ["GET", "/api/v1/leads"],
  listSources: ["GET", "/api/v1/agents/{agent_id}/sources"],
  createSource: ["POST", "/api/v1/agents/{agent_id}/sources"],
  syncSource: ["POST", "/api/v1/agents/{agent_id}/sources/{source_id}/sync"],
  deleteSource: ["DELETE", "/api/v1/agents/{agent_id}/sources/{source_id}"],
  listSourcePages: ["GET", "/api/v1/agents/{agent_id}/sources/{source_id}/pages"],
  listAnswers: ["GET", "/api/v1/agents/{agent_id}/answers"],
  createAnswer: ["POST", "/api/v1/agents/{agent_id}/answers"],
  deleteAnswer: ["DELETE", "/api/v1/agents/{agent_id}/answers/{answer_id}"],
  searchKnowledge: ["POST", "/api/v1/agents/{agent_id}/search"],
  getAnalyticsOverview: ["GET", "/api/v1/analytics/overview"],
  findPerson: ["GET", "/api/v1/privacy/visitors"],
  erasePerson: ["DELETE", "/api/v1/privacy/visitors"],
  exportPerson: ["GET", "/api/v1/privacy/export"],
  listWebhooks: ["GET", "/api/v1/webhooks"],
  createWebhook: ["POST", "/api/v1/webhooks"],
  getWebhook: ["GET", "/api/v1/webhooks/{webhook_id}"],
  updateWebhook: ["PATCH", "/api/v1/webhooks/{webhook_id}"],
  deleteWebhook: ["DELETE", "/api/v1/webhooks/{webhook_id}"],
  rotateWebhookSecret: ["POST", "/api/v1/webhooks/{webhook_id}/rotate-secret"],
  testWebhook: ["POST", "/api/v1/webhooks/{webhook_id}/test"],
  listDeliveries: ["GET", "/api/v1/webhooks/{webhook_id}/deliveries"],
  redeliverEvent: ["POST", "/api/v1/webhooks/deliveries/{delivery_id}/redeliver"],
} as const satisfies Record<keyof Operations, readonly [method: string, path: string]>;
