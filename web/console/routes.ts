import type { ComponentType } from "preact";
import type { IconName } from "./ui/icon.tsx";
import type { Scope } from "./session.ts";
import { lazy } from "./ui/lazy.tsx";

/** A page of the console. Its code is loaded when it is first opened. */
export interface Page {
  path: string;
  title: string;
  icon: IconName;
  /** The scope that a key needs to open it; undefined for pages of the operator. */
  scope?: Scope;
  View: ComponentType;
}

export const WORKSPACE_PAGES: readonly Page[] = [
  {
    path: "/inbox",
    title: "Inbox",
    icon: "inbox",
    scope: "conversations:read",
    View: lazy(async () => (await import("./inbox/inbox.tsx")).Inbox),
  },
  {
    path: "/playground",
    title: "Playground",
    icon: "play",
    scope: "chat:write",
    View: lazy(async () => (await import("./playground/playground.tsx")).Playground),
  },
  {
    path: "/knowledge",
    title: "Knowledge",
    icon: "book",
    scope: "knowledge:read",
    View: lazy(async () => (await import("./knowledge/knowledge.tsx")).Knowledge),
  },
  {
    path: "/analytics",
    title: "Analytics",
    icon: "chart",
    scope: "analytics:read",
    View: lazy(async () => (await import("./analytics/analytics.tsx")).Analytics),
  },
  { path: "/leads", title: "Leads", icon: "mail", scope: "leads:read", View: lazy(async () => (await import("./leads/leads.tsx")).Leads) },
  {
    path: "/people",
    title: "People",
    icon: "person",
    scope: "privacy:read",
    View: lazy(async () => (await import("./people/people.tsx")).People),
  },
  {
    path: "/webhooks",
    title: "Webhooks",
    icon: "webhook",
    scope: "webhooks:read",
    View: lazy(async () => (await import("./webhooks/webhooks.tsx")).Webhooks),
  },
  {
    path: "/settings",
    title: "Settings",
    icon: "settings",
    scope: "agents:read",
    View: lazy(async () => (await import("./settings/settings.tsx")).Settings),
  },
];

/** Shown instead of the others while an application asks to be connected. */
export const CONSENT_PAGE: Page = {
  path: "/consent",
  title: "Connect an application",
  icon: "settings",
  View: lazy(async () => (await import("./consent.tsx")).ConsentPage),
};

export const OPERATOR_PAGES: readonly Page[] = [
  {
    path: "/workspaces",
    title: "Workspaces",
    icon: "book",
    View: lazy(async () => (await import("./operator/workspaces.tsx")).Workspaces),
  },
  { path: "/health", title: "Health", icon: "check", View: lazy(async () => (await import("./operator/health.tsx")).HealthPage) },
  { path: "/audit", title: "Audit log", icon: "history", View: lazy(async () => (await import("./operator/audit.tsx")).Audit) },
];
