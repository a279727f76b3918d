/** The length of the vectors of the model on Workers AI; the Vectorize index is made with it. */
export const WORKERS_AI_DIMENSIONS = 1_024;
