import { useState } from "preact/hooks";
import { errorText, InputError, request } from "./api.ts";
import { consentRequest, endConsentRequest } from "./consent-request.ts";
import { useQuery } from "./query.ts";
import { nameOf, ownMember, type Scope, session, signOut } from "./session.ts";
import { Button } from "./ui/button.tsx";
import { Checkbox, FieldError } from "./ui/field.tsx";
import { useForm } from "./ui/form.ts";
import { Loaded } from "./ui/states.tsx";

interface Application {
  name: string;
  /** Where the access goes. */
  host: string;
  /** The domain that gives the name; null if the application named itself. */
  domain: string | null;
  /** Whether it is a program on the person's computer. */
  is_local: boolean;
}

type Asked = { application: Application; scopes: Scope[] } | { problem: string } | { redirect_url: string };

/** What an application may do, in the order in which it is shown. */
const SCOPE_WORDS: Partial<Record<Scope, string>> = {
  "agents:read": "See the agents and their settings",
  "knowledge:read": "Search and read the knowledge",
  "conversations:read": "Read conversations, with the names and addresses of customers",
  "leads:read": "Read the contact details that visitors left",
  "analytics:read": "Read the analytics",
  "chat:write": "Ask an agent as a customer would, which counts toward the quota",
  "conversations:write": "Reply to customers, change conversations, and decide on tool calls",
  "knowledge:write": "Add answers, and read sources again",
};

/** Asks the member whether an application may use the workspace. */
export function ConsentPage() {
  const isMember = ownMember() !== null;
  return <div class="sign-in">{isMember ? <Consent /> : <NotAMember />}</div>;
}

/** Whoever signed in with a key connects nothing: the access would not end with a person. */
function NotAMember() {
  return (
    <>
      <h1>Sign in as a member</h1>
      <p>
        An application gets the access of a member of the team, and loses it when the member leaves. You are signed in with{" "}
        {session.value?.kind === "operator" ? "the operator’s token" : "an API key"}. Sign in as a member, or invite yourself first under
        Settings, Members.
      </p>
      <div class="actions">
        <Button onClick={endConsentRequest}>Go to the console</Button>
        <Button variant="primary" onClick={() => void signOut()}>
          Sign in as a member
        </Button>
      </div>
    </>
  );
}

function Consent() {
  const query = useQuery("consent", async () => {
    const asked = await request<Asked>("POST", "/console/consent/read", { request: consentRequest.value });
    if ("redirect_url" in asked) leaveTo(asked.redirect_url);
    return asked;
  });
  return (
    <Loaded query={query} rows={5}>
      {(asked) => {
        if ("redirect_url" in asked) return <p>You are sent back to the application.</p>;
        return "problem" in asked ? <Unconnectable problem={asked.problem} /> : <ConsentForm {...asked} />;
      }}
    </Loaded>
  );
}

function Unconnectable({ problem }: { problem: string }) {
  return (
    <>
      <h1>This application cannot be connected</h1>
      <p>{problem} Start again in the application, or ask its maker.</p>
      <div class="actions">
        <Button onClick={endConsentRequest}>Go to the console</Button>
      </div>
    </>
  );
}

function ConsentForm({ application, scopes }: { application: Application; scopes: Scope[] }) {
  const [isDeclining, setDeclining] = useState(false);
  const [problem, setProblem] = useState<string>();
  const decide = async (given: string[]) => {
    const body = { request: consentRequest.value, scopes: given };
    leaveTo((await request<{ redirect_url: string }>("POST", "/console/consent", body)).redirect_url);
  };
  const form = useForm(async ({ all }) => {
    if (all("scopes").length === 0) throw new InputError("Choose what it may do, or deny.", "scopes");
    await decide(all("scopes"));
  });
  const decline = async () => {
    setDeclining(true);
    try {
      await decide([]);
    } catch (error) {
      setProblem(errorText(error));
    }
    setDeclining(false);
  };
  const { name, host, domain, is_local: isLocal } = application;
  return (
    <>
      <h1>Connect {name}?</h1>
      <p>
        <strong>{name}</strong> wants to use <strong>{nameOf(session.value!)}</strong> in your name, {ownMember()!.name}.
      </p>
      <dl class="facts">
        <div>
          <dt>Access goes to</dt>
          <dd>{isLocal ? `a program on this computer (${host})` : host}</dd>
        </div>
        <div>
          <dt>Name given by</dt>
          <dd>{domain ?? "the application itself, unverified"}</dd>
        </div>
      </dl>
      {scopes.length === 0 ? (
        <p>You have none of the permissions that it asks for. Ask an owner of the workspace.</p>
      ) : (
        <form class="stack" onSubmit={form.onSubmit}>
          <fieldset>
            <legend>It may</legend>
            {(Object.keys(SCOPE_WORDS) as Scope[])
              .filter((scope) => scopes.includes(scope))
              .map((scope) => (
                <Checkbox key={scope} name="scopes" value={scope} label={SCOPE_WORDS[scope]} defaultChecked />
              ))}
            <FieldError text={form.errorAt("scopes")} />
          </fieldset>
          <p class="quiet">
            Continue only if you have just started this in {name}. Whatever it does is done in your name. You end its access under Settings,
            Members.
          </p>
          <FieldError text={form.error ?? problem} />
          <div class="actions">
            <Button isBusy={isDeclining} onClick={() => void decline()}>
              Deny
            </Button>
            <Button variant="primary" type="submit" isBusy={form.isBusy}>
              Allow
            </Button>
          </div>
        </form>
      )}
    </>
  );
}

/** Goes to the application. Only addresses of the web are followed. */
function leaveTo(url: string): void {
  endConsentRequestLater();
  if (/^https?:$/.test(new URL(url).protocol)) location.replace(url);
}

/** The page stays until the browser leaves it. */
function endConsentRequestLater(): void {
  window.addEventListener("pagehide", endConsentRequest, { once: true });
}
