import { randomUUID } from "node:crypto";
import { ApiError, type Routes } from "./call.ts";

interface Property {
  propertyName: string;
  indexType: string;
}

/** An index with its shape and what it filters by. */
export interface Index {
  name: string;
  config: { dimensions: number; metric: string };
  properties: Property[];
}

/** The Vectorize indexes of an account. */
export class Vectorize {
  readonly indexes: Index[] = [];

  readonly routes: Routes = [
    [/^GET vectorize\/v2\/indexes$/, () => this.indexes],
    [/^DELETE vectorize\/v2\/indexes\/([^/]+)$/, (_, name) => this.indexes.splice(this.indexes.indexOf(this.#find(name)), 1).length],
    [/^POST vectorize\/v2\/indexes$/, ({ body }) => this.create(JSON.parse(body) as Omit<Index, "properties">)],
    [/^GET vectorize\/v2\/indexes\/([^/]+)\/metadata_index\/list$/, (_, name) => ({ metadataIndexes: this.#find(name).properties })],
    [
      /^POST vectorize\/v2\/indexes\/([^/]+)\/metadata_index\/create$/,
      ({ body }, name) => {
        this.#find(name).properties.push(JSON.parse(body) as Property);
        return { mutationId: randomUUID() };
      },
    ],
  ];

  create({ name, config }: Omit<Index, "properties">, properties: Property[] = []): Index {
    if (this.indexes.some((index) => index.name === name)) throw new ApiError(409, 3_002, "vectorize.index.duplicate_name");
    const index = { name, config, properties, created_on: "2026-11-01", modified_on: "2026-11-01", description: "" };
    this.indexes.push(index);
    return index;
  }

  #find(name: string): Index {
    const index = this.indexes.find((one) => one.name === name);
    if (!index) throw new ApiError(410, 3_005, "vectorize.index.not_found");
    return index;
  }
}
