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
  WidgetSettings: {
    /** Its identifier. */
    id: string;
    /** The name that visitors see. */
    name: string;
    /** A paused agent answers no questions. */
    status: "active" | "paused";
    /** The language of its texts, as a BCP 47 tag. */
    language: string;
    /** The message that visitors read before they write. */
    welcome_message: string;
    /** Whether the welcome message is the default one. The chat then shows it in the visitor's language. */
    is_default_welcome: boolean;
    /** The message that visitors read when a human is needed. */
    handoff_message: string;
    /** The public key of the Turnstile widget to solve before the first message; null if there is none. */
    turnstile_site_key: string | null;
    appearance: Schemas["Appearance"];
    /** The form that visitors get when nobody can answer; null for no form. */
    contact_form: Schemas["ContactForm"] | null;
    /**
     * The languages of the chat, each with texts that replace the usual ones; empty for all languages. If neither the page nor the browser has one of these languages, the chat uses the agent's language, or the first of these.
     *
     * Languages: en, de, fr, es, pt, it, nl, nb, ar. Texts: launcher_label, open_chat, close_chat, chat_with, menu, new_conversation, history, history_empty, back, talk_to_person, answers_by_ai, powered_by, loading, welcome, message_label, message_placeholder, send, characters_left, attach, files, remove_file, uploading, file_too_large, file_unsupported, too_many_files, file_failed, suggestions, messages, you, team, is_writing, sources, copy_code, copied, new_messages, unread_messages, today, yesterday, sending, not_sent, try_again, rate_up, rate_down, rate_reason, rate_thanks, csat_title, csat_1, csat_2, csat_3, csat_4, csat_5, csat_comment, csat_thanks, submit, skip, waiting_title, waiting_text, closed_title, closed_text, human_title, resolved, contact_title, contact_text, contact_open, contact_sent, field_name, field_email, field_phone, field_message, optional, required, invalid_email, invalid_phone, offline, reconnecting, rate_limited, conversation_full, quota_exceeded, paused, unavailable, session_ended, identity_rejected, challenge, challenge_failed, not_loaded.
     */
    languages: Record<string, Record<string, string>>;
    /** `off` if the agent never hands a conversation to a human. */
    handoff: "on" | "off";
    /** Whether the team is there now, by the business hours. */
    team_open: boolean;
    /** When the team opens next; null while it is there. */
    opens_at: string | null;
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
  Error: {
    /** The error. */
    error: {
      /** The code of the error, for programs. */
      code: "missing_api_key" | "invalid_api_key" | "revoked_api_key" | "quota_exceeded" | "insufficient_scope" | "plan_required" | "not_found" | "method_not_allowed" | "conflict" | "endpoint_disabled" | "idempotency_conflict" | "payload_too_large" | "validation_error" | "rate_limited" | "internal_error" | "unavailable" | "missing_visitor_token" | "invalid_visitor_token" | "invalid_identity" | "origin_not_allowed" | "challenge_required";
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
  VisitorAnswer: Schemas["ChatAnswer"] & {
    /** The token to send with the visitor's next request. Keep it in their browser. */
    visitor_token: string;
    /** The id of the visitor within the workspace. */
    anon_id: string;
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
  VisitorMessageIn: {
    /** The question. */
    message: string;
    /** Continues a conversation; omit to start a new one. */
    conversation_id?: string | null | undefined;
    /** The token from the last answer; leave it out of the first request. */
    visitor_token?: string | null | undefined;
    /** Required for agents with a turnstile_site_key, in requests without a visitor_token. */
    turnstile_token?: string | null | undefined;
    /** A JWT that identifies the visitor. Your backend signs it with the agent's identity secret. */
    identity_token?: string | null | undefined;
    /** Hex HMAC-SHA256 of user.id with the agent's identity secret. */
    user_hash?: string | null | undefined;
    /** The visitor, whose id `user_hash` proves. */
    user?: Schemas["EndUser"] | null | undefined;
    /** The channel on which the visitor writes. */
    channel?: "widget" | "hosted" | undefined;
    /** The names of the agent's client tools that you run; the others are not called. By default none. */
    client_tools?: string[] | null | undefined;
    /** The ids of uploaded files that the message carries. A file belongs to one message. */
    attachments?: string[] | null | undefined;
    /** Whether the answer is streamed as Server-Sent Events. */
    stream?: boolean | undefined;
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
  VisitorAttachmentUpload: Schemas["AttachmentUpload"] & {
    /** The token from the last answer; leave it out of the first request. */
    visitor_token?: string | null | undefined;
    /** Required for agents with a turnstile_site_key, in requests without a visitor_token. */
    turnstile_token?: string | null | undefined;
  };
  AttachmentUpload: {
    /** A JPEG, PNG, WebP or GIF image, a PDF or a plain text in UTF-8, of at most 10 MB (10,485,760 bytes). */
    file: Blob;
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
  LeadIn: {
    /** Their name. */
    name?: string | null | undefined;
    /** Their email address. */
    email?: string | null | undefined;
    /** Their phone number. */
    phone?: string | null | undefined;
    /** Their message. */
    message?: string | null | undefined;
    /** Further fields of your form, by name. */
    custom_fields?: Record<string, string | number | boolean | null> | null | undefined;
    /** The conversation in which it is left. */
    conversation_id?: string | null | undefined;
    /** The token from the last answer; leave it out of the first request. */
    visitor_token?: string | null | undefined;
    /** Required for agents with a turnstile_site_key, in requests without a visitor_token. */
    turnstile_token?: string | null | undefined;
    /** The URL of the page on which it is left. */
    source_url?: string | null | undefined;
  };
  PastConversations: {
    /** The conversations, newest first. */
    data: Schemas["PastConversation"][];
  };
  PastConversation: {
    /** Its identifier. */
    id: string;
    /** The status, which shows whether the agent or the team has the conversation, or whether it is resolved. */
    status: "open" | "ai_handled" | "needs_human" | "human_active" | "resolved";
    /** The beginning of the latest message. */
    last_message_preview: string | null;
    /** The time of the latest message. */
    last_message_at: string;
    /** When it was created. */
    created_at: string;
  };
  NewMessages: {
    /** The messages, oldest first. */
    data: {
      /** Its identifier. */
      id: string;
      /** The conversation. */
      conversation_id: string;
      /** The author: `user` is the visitor, `assistant` the agent, `human` the team and `system` the service. */
      role: "user" | "assistant" | "human" | "system";
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
      /** When it was created. */
      created_at: string;
    }[];
    /** The status of the conversation. */
    status: "open" | "ai_handled" | "needs_human" | "human_active" | "resolved";
    /** Whether the team is there now, by the business hours. */
    team_open: boolean;
    /** When the team opens next; null while it is there. */
    opens_at: string | null;
  };
  HandoffAnswer: {
    /** The hand-off; null if the team already has the conversation, or if the agent hands nothing off. */
    handoff: Schemas["Handoff"] | null;
    /** The status of the conversation. */
    status: "open" | "ai_handled" | "needs_human" | "human_active" | "resolved";
    /** The message that the visitor reads. */
    handoff_message: string;
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
  Csat: {
    /** The score from 1 to 5. */
    score: number;
    /** The visitor's comment. */
    comment: string | null;
  };
  CsatIn: {
    /** The score from 1 to 5. 5 is the best. */
    score: number;
    /** The visitor's comment. */
    comment?: string | null | undefined;
  };
}

/** What each operation takes (the parameters of its path and query, and its body) and what it answers. */
export interface Operations {
  /** Get an agent's public settings. */
  getWidgetSettings: {
    input: {
      /** The agent. */
      agent_id: string;
    };
    answer: Schemas["WidgetSettings"];
  };
  /** Ask an agent, as a visitor. */
  sendVisitorMessage: {
    input: {
      /** The agent. */
      agent_id: string;
      body: Schemas["VisitorMessageIn"];
    };
    answer: Schemas["VisitorAnswer"];
  };
  /** Upload a file for a message. Send it as multipart/form-data, then name its id in the `attachments` of a message. Send the `visitor_token` if you have one: the file is then the visitor's alone. A file that no message takes within an hour is deleted. */
  uploadVisitorAttachment: {
    input: {
      /** The agent. */
      agent_id: string;
      body: Schemas["VisitorAttachmentUpload"];
    };
    answer: Schemas["Attachment"];
  };
  /** Resume the stream of an answer. */
  resumeVisitorAnswer: {
    input: {
      /** The conversation. */
      conversation_id: string;
      /** The message. */
      message_id: string;
    };
    answer: Schemas["ChatEvents"];
  };
  /** Send the results of tools that ran in the page. */
  sendVisitorToolResults: {
    input: {
      /** The conversation. */
      conversation_id: string;
      /** The message. */
      message_id: string;
      body: Schemas["ToolResultsIn"];
    };
    answer: Schemas["VisitorAnswer"];
  };
  /** Leave contact details. */
  sendVisitorLead: {
    input: {
      /** The agent. */
      agent_id: string;
      body: Schemas["LeadIn"];
    };
    answer: Schemas["Lead"];
  };
  /** List the visitor's conversations. */
  listVisitorConversations: {
    input: {};
    answer: Schemas["PastConversations"];
  };
  /** Read new messages of a conversation. */
  pollVisitorMessages: {
    input: {
      /** The conversation. */
      conversation_id: string;
      /** The latest message that you have. Without it, all messages are returned. */
      after?: string | undefined;
    };
    answer: Schemas["NewMessages"];
  };
  /**
   * Follow a conversation over a WebSocket. A WebSocket that sends `{"kind": "conversation", "id": "…"}` when the conversation has a new message or status. Read
   * the new messages then, and each time that you connect. A browser names its token as a subprotocol:
   *
   * ```js
   * const socket = new WebSocket(url, ["support-agent", visitorToken]);
   * socket.onopen = socket.onmessage = readNewMessages;
   * ```
   *
   * Send nothing but `ping`, which is answered with `pong`. The service closes the socket when the conversation is resolved or erased,
   * and when the visitor's sessions are ended. After 10 minutes, or once the token has expired, the next change closes the socket: then
   * connect again.
   */
  followConversation: {
    input: {
      /** The conversation. */
      conversation_id: string;
    };
    answer: undefined;
  };
  /** Ask for a human. */
  requestVisitorHandoff: {
    input: {
      /** The conversation. */
      conversation_id: string;
    };
    answer: Schemas["HandoffAnswer"];
  };
  /** End all sessions of a visitor. */
  endVisitorSessions: {
    input: {};
    answer: undefined;
  };
  /** Rate an answer. */
  rateVisitorAnswer: {
    input: {
      /** The conversation. */
      conversation_id: string;
      /** The message. */
      message_id: string;
      body: Schemas["FeedbackIn"];
    };
    answer: Schemas["Feedback"];
  };
  /** Rate a conversation. */
  rateConversation: {
    input: {
      /** The conversation. */
      conversation_id: string;
      body: Schemas["CsatIn"];
    };
    answer: Schemas["Csat"];
  };
}

/** The method and the path of each operation. */
export const ROUTES = {
  getWidgetSettings: ["GET", "/widget/v1/agents/{agent_id}"],
  sendVisitorMessage: ["POST", "/widget/v1/agents/{agent_id}/messages"],
  uploadVisitorAttachment: ["POST", "/widget/v1/agents/{agent_id}/attachments"],
  resumeVisitorAnswer: ["GET", "/widget/v1/conversations/{conversation_id}/messages/{message_id}/stream"],
  sendVisitorToolResults: ["POST", "/widget/v1/conversations/{conversation_id}/messages/{message_id}/tool-results"],
  sendVisitorLead: ["POST", "/widget/v1/agents/{agent_id}/leads"],
  listVisitorConversations: ["GET", "/widget/v1/conversations"],
  pollVisitorMessages: ["GET", "/widget/v1/conversations/{conversation_id}/messages"],
  followConversation: ["GET", "/widget/v1/conversations/{conversation_id}/live"],
  requestVisitorHandoff: ["POST", "/widget/v1/conversations/{conversation_id}/handoff"],
  endVisitorSessions: ["POST", "/widget/v1/sessions/end"],
  rateVisitorAnswer: ["POST", "/widget/v1/conversations/{conversation_id}/messages/{message_id}/feedback"],
  rateConversation: ["POST", "/widget/v1/conversations/{conversation_id}/csat"],
} as const satisfies Record<keyof Operations, readonly [method: string, path: string]>;
