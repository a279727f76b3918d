import type { ComponentType } from "preact";
import type { IconName } from "./ui/icon.tsx";
import type { Scope } from "./session.ts";

/** A page of the console. Its code is loaded when it is first opened. */
export interface Page {
  path: string;
  title: string;
  icon: IconName;
  /** The scope that a key needs to open it; undefined for pages of the operator. */
  scope?: Scope;
  load: () => Promise<ComponentType>;
}

export const WORKSPACE_PAGES: readonly Page[] = [
  {
    path: "/inbox",
    title: "Inbox",
    icon: "inbox",
    scope: "conversations:read",
    load: async () => (await import("./inbox/inbox.tsx")).Inbox,
  },
  {
    path: "/playground",
    title: "Playground",
    icon: "play",
    scope: "chat:write",
    load: async () => (await import("./playground/playground.tsx")).Playground,
  },
  {
    path: "/knowledge",
    title: "Knowledge",
    icon: "book",
    scope: "knowledge:read",
    load: async () => (await import("./knowledge/knowledge.tsx")).Knowledge,
  },
  {
    path: "/analytics",
    title: "Analytics",
    icon: "chart",
    scope: "analytics:read",
    load: async () => (await import("./analytics/analytics.tsx")).Analytics,
  },
  { path: "/leads", title: "Leads", icon: "mail", scope: "leads:read", load: async () => (await import("./leads/leads.tsx")).Leads },
  {
    path: "/people",
    title: "People",
    icon: "person",
    scope: "privacy:read",
    load: async () => (await import("./people/people.tsx")).People,
  },
  {
    path: "/webhooks",
    title: "Webhooks",
    icon: "webhook",
    scope: "webhooks:read",
    load: async () => (await import("./webhooks/webhooks.tsx")).Webhooks,
  },
  {
    path: "/settings",
    title: "Settings",
    icon: "settings",
    scope: "agents:read",
    load: async () => (await import("./settings/settings.tsx")).Settings,
  },
];

/** Shown instead of the others while an application asks to be connected. */
export const CONSENT_PAGE: Page = {
  path: "/consent",
  title: "Connect an application",
  icon: "settings",
  load: async () => (await import("./consent.tsx")).ConsentPage,
};

export const OPERATOR_PAGES: readonly Page[] = [
  { path: "/workspaces", title: "Workspaces", icon: "book", load: async () => (await import("./operator/workspaces.tsx")).Workspaces },
  { path: "/health", title: "Health", icon: "check", load: async () => (await import("./operator/health.tsx")).HealthPage },
  { path: "/audit", title: "Audit log", icon: "history", load: async () => (await import("./operator/audit.tsx")).Audit },
];
