import { HttpError } from './adapters/http/errors.ts';
import { jsonParser } from './adapters/http/json-body.ts';
import { NewPlant } from './adapters/http/schemas.ts';
import type { PlantParser } from './adapters/import/ndjson.ts';
import { PlantStoreError } from './domain/errors.ts';

/** Makes the parser of an import's lines, by the API's own rules: a line is what the body of a request would be. */
export function lineParser(): PlantParser {
  const parse = jsonParser(NewPlant, 'the line');
  return (line) => {
    try {
      return parse(line);
    } catch (error) {
      throw error instanceof HttpError ? new PlantStoreError('invalid_plant', error.message) : error;
    }
  };
}
