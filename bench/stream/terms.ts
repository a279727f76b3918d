/** What the stand-in model and those who read it agree on. */
export const PACED = "paced";
export const INSTANT = "instant";

/** 50 tokens a second, for three seconds. */
export const TOKEN_MS = 20;
export const TOKENS = 150;

/** How the answer begins. */
export const FIRST_WORD = "Refundable";
