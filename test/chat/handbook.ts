/** The knowledge of the agents in these tests. */
export const HANDBOOK = `# Refunds

Refunds are paid within five working days. The money goes back to the card that you paid with.

# Shipping

Parcels leave our warehouse in Rotterdam every evening at eight. Shipping to Norway takes nine days.

# Warranty

Every kettle carries a warranty of three years. The warranty covers the heating element and the lid.
`;

/** A question that the handbook answers, with words of the answer. */
export const KNOWN = { message: "When are refunds paid?", answer: "within five working days" };

/** A question that it does not answer. */
export const UNKNOWN = "What is the capital of France?";
