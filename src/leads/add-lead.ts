import { dbFor } from "../db/client.ts";
import { newId, shardOf } from "../db/ids.ts";
import { leads } from "../db/schema.ts";
import type { Meter } from "../meter.ts";
import { addLeadEvent, IF_CHANGED } from "../webhooks/events-store.ts";
import type { CustomFields } from "./wire.ts";

/** Where a lead is added, and when. */
export interface LeadOperation {
  env: Env;
  meter: Meter;
  workspaceId: string;
  nowMs: number;
}

/** What a person left. */
export interface LeadFields {
  agentId: string;
  conversationId: string | null;
  visitorId: string | null;
  name: string | null;
  email: string | null;
  phone: string | null;
  message: string | null;
  customFields: CustomFields;
  sourceUrl: string | null;
}

/** Adds a lead, with its event. */
export async function addLead({ env, meter, workspaceId, nowMs }: LeadOperation, fields: LeadFields) {
  const db = dbFor(env, workspaceId, meter);
  const shard = shardOf(workspaceId);
  const id = newId(shard, nowMs);
  const row = { ...fields, id, workspaceId, emailKey: fields.email?.toLowerCase() ?? null, createdAt: nowMs };
  const event = { id: newId(shard, nowMs), workspaceId, conversationId: fields.conversationId, nowMs };
  const [[lead]] = await db.batch([db.insert(leads).values(row).returning(), addLeadEvent(db, event, id, IF_CHANGED)]);
  return lead!;
}
