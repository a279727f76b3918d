/** Somebody who writes in a sample conversation. */
export interface Person {
  id: string;
  name: string;
  email: string;
}

/** Who replies in them. */
export const COLLEAGUE = { id: "grace", name: "Grace Hopper" };

export function person(id: string, name: string): Person {
  return { id: `sample-${id}`, name, email: `${id}@example.com` };
}
