import { effect, signal } from "@preact/signals";
import { api, type Schemas } from "./api.ts";
import { type Query, useQuery } from "./query.ts";
import { hasScope, ownMember, session } from "./session.ts";
import { attempt } from "./ui/toast.tsx";

export type Member = Schemas["Member"];

export const AVAILABILITIES = [
  ["available", "Available"],
  ["away", "Away"],
] as const;

/** Reads the members of the team; none if the user may not read them. */
export function useMembers(): Query<Member[]> {
  return useQuery("members", async (signal) => (hasScope("members:read") ? (await api.listMembers({}, { signal })).data : []));
}

/** The availability of the member who is signed in; undefined for others, and until it is known. */
export const availability = signal<Member["availability"]>();

/** Reads the own availability whenever another member signs in. */
export function startAvailability(): void {
  let memberId: string | undefined;
  effect(() => {
    const id = ownMember()?.id;
    if (id === memberId) return;
    memberId = id;
    availability.value = undefined;
    if (id !== undefined) void read(id);
  });
}

async function read(id: string): Promise<void> {
  const member = await api.getMember({ member_id: id }).catch(() => undefined);
  if (member && member.id === ownMember()?.id) availability.value = member.availability;
}

/** Changes the own availability. It is shown at once, and put back if the request fails. */
export async function setAvailability(next: Member["availability"]): Promise<void> {
  const own = ownMember();
  const before = availability.value;
  if (!own) return;
  availability.value = next;
  if (!(await attempt(() => api.updateMember({ member_id: own.id, body: { availability: next } })))) availability.value = before;
}

/** Changes the own name, which the rest of the console then shows. */
export async function rename(name: string): Promise<void> {
  const own = ownMember();
  if (!own) return;
  const changed = await api.updateMember({ member_id: own.id, body: { name } });
  const current = session.value;
  if (current?.kind === "workspace") session.value = { ...current, name: changed.name, member: { ...own, name: changed.name } };
}
