import { plantRepositoryContract } from '../contract/plant-repository.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { implementations, postgres } from '../support/plants/plant-repositories.ts';
import { ownPostgres } from '../support/servers/own-postgres.ts';

const server = forAllTests(() => ownPostgres(['fsync=off']));

for (const [name, open] of implementations) {
  plantRepositoryContract(name, open, name === 'Postgres' ? () => postgres(server.url) : open);
}
