import { send } from './api.js';
import { byId, onClick } from './dom.js';
import { add } from './editor/editor.js';
import { failed } from './errors.js';
import { freeId } from './ids.js';
import { reload } from './table/plants.js';

/* What an empty store offers: a first plant, a list, or plants to try the page with. */

const SAMPLES = `name,tag\nMonstera deliciosa,houseplant\nPinus longaeva,conifer\nFicus carica,tree\nWelwitschia mirabilis,
Lithops karasmontana,succulent\nGinkgo biloba,tree\nNepenthes rajah,carnivore\nDionaea muscipula,carnivore
Taxus baccata,conifer\nSalvia rosmarinus,herb\nOcimum basilicum,herb\nVictoria amazonica,aquatic\n`;

async function addSamples() {
  const idsFrom = await freeId();
  await send('POST', `import?idsFrom=${idsFrom}`, { body: SAMPLES, type: 'text/csv', has: 'records' });
  reload();
}

onClick('add-samples', () => void addSamples().catch((error) => failed(error)));
onClick('add-first', add);
onClick('import-first', () => byId('import-list', HTMLElement).click());
