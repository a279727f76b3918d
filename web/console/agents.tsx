import { signal } from "@preact/signals";
import { api, type Schemas } from "./api.ts";
import { type Query, useQuery } from "./query.ts";
import { hasScope } from "./session.ts";
import { Select } from "./ui/field.tsx";

const MAX_AGENTS = 100;
/** The most versions that the service keeps of an agent. */
export const MAX_VERSIONS = 100;

/** Reads the agents of the workspace; none if the key may not read them. */
export function useAgents(): Query<Schemas["Agent"][]> {
  return useQuery("agents", async (signal) =>
    hasScope("agents:read") ? (await api.listAgents({ limit: MAX_AGENTS }, { signal })).data : [],
  );
}

/** The key in sessionStorage for the selected agent. */
const CHOSEN = "console.agent";
const chosenId = signal(sessionStorage.getItem(CHOSEN) ?? "");

/** The selected agent, which all pages share. It is the first one until the user selects another. */
export function useChosenAgent() {
  const agents = useAgents();
  const agent = agents.data?.find(({ id }) => id === chosenId.value) ?? agents.data?.[0];
  return { agents, agent, agentId: agent?.id ?? "" };
}

export function chooseAgent(agentId: string): void {
  chosenId.value = agentId;
  sessionStorage.setItem(CHOSEN, agentId);
}

interface Props {
  label: string;
  /** The text of an option for all agents. Without it there is no such option. */
  all?: string;
  value: string;
  onChange: (agentId: string) => void;
}

export function AgentPicker({ label, all, value, onChange }: Props) {
  const { data = [] } = useAgents();
  const options = [...(all === undefined ? [] : [["", all] as const]), ...data.map(({ id, name }) => [id, name] as const)];
  return <Select label={label} hideLabel options={options} value={value} onChoose={onChange} />;
}
