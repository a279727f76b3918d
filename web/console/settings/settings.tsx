import { Link, Route, Switch, useLocation } from "wouter-preact";
import { api } from "../api.ts";
import { useQuery } from "../query.ts";
import { session } from "../session.ts";
import { lazy } from "../ui/lazy.tsx";
import { PageFrame } from "../ui/page.tsx";
import { useUnsavedChanges } from "../ui/unsaved.ts";
import { AgentList } from "./agent-list.tsx";
import { AgentPage } from "./agent-page.tsx";
import { KeyList } from "./key-list.tsx";
import { settingsTabs } from "./tabs.ts";
import { UsagePage } from "./usage.tsx";
import { VersionsPage } from "./versions.tsx";

const MembersPage = lazy(async () => (await import("./members.tsx")).MembersPage);
const RoutingPage = lazy(async () => (await import("./routing.tsx")).RoutingPage);
const BusinessHoursPage = lazy(async () => (await import("./business-hours.tsx")).BusinessHoursPage);
const SavedReplies = lazy(async () => (await import("./saved-replies.tsx")).SavedReplies);
const SignInSettings = lazy(async () => (await import("./sign-in-settings.tsx")).SignInSettings);
const PrivacyPage = lazy(async () => (await import("./privacy.tsx")).PrivacyPage);
const AuditLog = lazy(async () => (await import("./audit.tsx")).AuditLog);

/** The settings of a workspace: agents, members, teams, business hours, saved replies, keys, privacy, usage and the audit log. */
export function Settings() {
  const [path] = useLocation();
  useUnsavedChanges();
  return (
    <PageFrame title="Settings">
      <nav class="tabs" aria-label="Settings">
        {settingsTabs().map(([href, title]) => (
          <Link key={href} href={href} aria-current={path === href ? "page" : undefined}>
            {title}
          </Link>
        ))}
      </nav>
      <Switch>
        <Route path="/">
          <AgentList />
        </Route>
        <Route path="/members">
          <MembersPage />
        </Route>
        <Route path="/routing">
          <RoutingPage />
        </Route>
        <Route path="/hours">
          <BusinessHoursPage />
        </Route>
        <Route path="/saved-replies">
          <SavedReplies />
        </Route>
        <Route path="/keys">
          <OwnKeys />
        </Route>
        <Route path="/sign-in">
          <SignInSettings />
        </Route>
        <Route path="/privacy">
          <PrivacyPage />
        </Route>
        <Route path="/usage">
          <UsagePage />
        </Route>
        <Route path="/audit">
          <AuditLog />
        </Route>
        <Route path="/agents/:id">{({ id }) => <AgentPage key={id} id={id} />}</Route>
        <Route path="/agents/:id/versions">{({ id }) => <VersionsPage key={id} id={id} />}</Route>
      </Switch>
    </PageFrame>
  );
}

/** The workspace's keys. A new one gets at most the scopes of the key that is signed in. */
function OwnKeys() {
  const query = useQuery("keys", async (signal) => (await api.listKeys({ limit: 100 }, { signal })).data);
  return (
    <KeyList
      query={query}
      grantable={session.value?.kind === "workspace" ? session.value.key.scopes : []}
      create={(body) => api.createKey({ body: body as Parameters<typeof api.createKey>[0]["body"] })}
      revoke={(key_id) => api.revokeKey({ key_id })}
    />
  );
}
