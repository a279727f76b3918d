import { useState } from "preact/hooks";
import { api, InputError, type Schemas } from "../api.ts";
import { useQuery } from "../query.ts";
import { session } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Checkbox, FieldError, Select, TextField } from "../ui/field.tsx";
import { nextKey } from "../ui/form.ts";
import { Secret } from "../ui/secret.tsx";
import { Loaded } from "../ui/states.tsx";
import { showMessage } from "../ui/toast.tsx";
import { SettingsForm } from "./settings-form.tsx";

type Settings = Schemas["SignInSettings"];
type Role = Settings["domains"][number]["role"];
const MAX_DOMAINS = 20;

interface Props {
  settings: Settings;
  save: (changes: Schemas["SignInSettingsUpdate"]) => Promise<unknown>;
}

const ROLES: readonly (readonly [Role, string])[] = [
  ["viewer", "Viewer"],
  ["agent", "Agent"],
  ["admin", "Admin"],
];

/** How the members of the workspace sign in to the console. */
export function SignInSettings() {
  const query = useQuery("sign-in", (signal) => api.getSignInSettings({ signal }));
  const save = async (body: Schemas["SignInSettingsUpdate"]) => {
    query.set(await api.updateSignInSettings({ body }));
    showMessage("Saved");
  };
  return (
    <Loaded query={query}>
      {(settings) => (
        <>
          <MethodsForm key={`methods ${settings.methods.join(" ")}`} settings={settings} save={save} />
          <ProviderForm key={`provider ${JSON.stringify(settings.oidc)}`} settings={settings} save={save} />
          <DomainsForm key={`domains ${JSON.stringify(settings.domains)}`} settings={settings} save={save} />
        </>
      )}
    </Loaded>
  );
}

/** The ways that only some deployments have. */
const BY_OPERATOR = [
  ["access", "Cloudflare Access"],
  ["mail", "Link by mail"],
] as const;

function MethodsForm({ settings, save }: Props) {
  const isComplete = BY_OPERATOR.every(([method]) => settings.available_methods.includes(method));
  const slug = session.value?.kind === "workspace" ? session.value.workspace.slug : "";
  const saveMethods = async (text: (name: string) => string) => {
    const methods = (["oidc", "access", "mail", "key"] as const).filter((method) => text(method) === "on");
    if (methods.length === 0) throw new InputError("Choose at least one way.", "methods");
    return save({ methods });
  };
  return (
    <SettingsForm title="Ways to sign in" onSave={saveMethods}>
      {(errorAt) => (
        <fieldset>
          <legend class="sr-only">Ways to sign in</legend>
          <Checkbox
            name="oidc"
            defaultChecked={settings.methods.includes("oidc")}
            disabled={settings.oidc === null}
            label="Company account, at the provider below"
          />
          {BY_OPERATOR.map(([method, label]) => (
            <Checkbox
              key={method}
              name={method}
              defaultChecked={settings.methods.includes(method)}
              disabled={!settings.available_methods.includes(method)}
              label={label}
            />
          ))}
          <Checkbox name="key" defaultChecked={settings.methods.includes("key")} label="API key. Without this, keys work in the API only" />
          <p class="hint">
            {isComplete ? "" : "Cloudflare Access and links by mail need a configuration by the operator. "}
            Links of invitations always work. On the sign-in page, the short name of this workspace is <code>{slug}</code>.
          </p>
          <FieldError text={errorAt("methods")} />
        </fieldset>
      )}
    </SettingsForm>
  );
}

function ProviderForm({ settings: { oidc, methods, redirect_url: redirectUrl }, save }: Props) {
  const saveProvider = (text: (name: string) => string) => {
    // The secret is never shown, so an empty field keeps it.
    const secret = text("client_secret");
    const provider = { issuer: text("issuer"), client_id: text("client_id"), ...(secret !== "" && { client_secret: secret }) };
    const isNew = oidc === null && !methods.includes("oidc");
    return save({ oidc: provider, ...(isNew && { methods: ["oidc", ...methods] }) });
  };
  return (
    <SettingsForm title="Provider" onSave={saveProvider}>
      {(errorAt) => (
        <>
          <p class="hint">
            Any OpenID Connect provider, such as Google, Microsoft Entra, Okta or Keycloak. Only owners change it: whoever runs the provider
            can sign in as any member. Register this redirect URL there:
          </p>
          <Secret value={redirectUrl} />
          <TextField
            label="Issuer"
            name="issuer"
            type="url"
            required
            maxLength={500}
            spellcheck={false}
            defaultValue={oidc?.issuer ?? ""}
            hint="For example https://accounts.google.com"
            error={errorAt("oidc.issuer")}
          />
          <TextField
            label="Client ID"
            name="client_id"
            required
            maxLength={500}
            spellcheck={false}
            autoComplete="off"
            defaultValue={oidc?.client_id ?? ""}
            error={errorAt("oidc.client_id")}
          />
          <TextField
            label="Client secret"
            name="client_secret"
            type="password"
            maxLength={500}
            autoComplete="off"
            hint={
              oidc?.has_client_secret
                ? "One is stored. Leave this empty to keep it; with another issuer or client ID, enter it again."
                : "Leave this empty for a public client."
            }
            error={errorAt("oidc.client_secret")}
          />
        </>
      )}
    </SettingsForm>
  );
}

function DomainsForm({ settings, save }: Props) {
  const [rows, setRows] = useState(() => settings.domains.map(({ domain, role }, key) => ({ key, domain, role })));
  const saveDomains = async (text: (name: string) => string) =>
    save({ domains: rows.map(({ key }) => ({ domain: text(`domain-${key}`), role: text(`role-${key}`) as Role })) });
  return (
    <SettingsForm title="Who may join" onSave={saveDomains}>
      {(errorAt) => (
        <>
          <p class="hint">
            People with a verified address of these domains become members when they first sign in with a company account, through
            Cloudflare Access or with a link by mail. Others need an invitation. A domain stands for itself, without its subdomains.
          </p>
          {rows.map(({ key, domain, role }, at) => (
            <div class="domain" key={key} role="group" aria-label={`Domain ${at + 1}`}>
              <TextField
                label="Domain"
                name={`domain-${key}`}
                required
                maxLength={253}
                spellcheck={false}
                defaultValue={domain}
                error={errorAt(`domains.${at}`)}
              />
              <Select label="Role" name={`role-${key}`} options={ROLES} value={role} />
              <Button variant="quiet" onClick={() => setRows(rows.filter((row) => row.key !== key))}>
                Remove
              </Button>
            </div>
          ))}
          <FieldError text={errorAt("domains")} />
          {rows.length < MAX_DOMAINS && (
            <Button onClick={() => setRows([...rows, { key: nextKey(rows), domain: "", role: "agent" }])}>Add domain</Button>
          )}
        </>
      )}
    </SettingsForm>
  );
}
