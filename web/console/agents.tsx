import { signal } from "@preact/signals";
import { api, type Schemas } from "./api.ts";
import { type Query, useQuery } from "./query.ts";
import { hasScope } from "./session.ts";
import { Select } from "./ui/field.tsx";

const MAX_AGENTS = 100;

/** The workspace's agents; none where the key may not read them. */
export function useAgents(): Query<Schemas["Agent"][]> {
  return useQuery("agents", async (signal) =>
    hasScope("agents:read") ? (await api.listAgents({ limit: MAX_AGENTS }, { signal })).data : [],
  );
}

const chosenId = signal("");

/** The agent that is worked on, the same on each page: the first one until another is chosen. */
export function useChosenAgent() {
  const agents = useAgents();
  const agent = agents.data?.find(({ id }) => id === chosenId.value) ?? agents.data?.[0];
  return { agents, agent, agentId: agent?.id ?? "" };
}

export function chooseAgent(agentId: string): void {
  chosenId.value = agentId;
}

interface Props {
  label: string;
  /** What stands for all of them; without it one is always chosen. */
  all?: string;
  value: string;
  onChange: (agentId: string) => void;
}

export function AgentPicker({ label, all, value, onChange }: Props) {
  const { data = [] } = useAgents();
  const options = [...(all === undefined ? [] : [["", all] as const]), ...data.map(({ id, name }) => [id, name] as const)];
  return <Select label={label} hideLabel options={options} value={value} onChoose={onChange} />;
}
