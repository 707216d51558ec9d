import { create } from './api.js';
import { byId, onClick } from './dom.js';
import { add } from './editor/editor.js';
import { failed } from './errors.js';
import { freeId, highestPlant } from './ids.js';
import { apply } from './table/plants.js';

/* What an empty store offers: a first plant, a list, or plants to try the page with. */

const SAMPLES = `Monstera deliciosa,houseplant|Pinus longaeva,conifer|Ficus carica,tree|Welwitschia mirabilis|
  Lithops karasmontana,succulent|Ginkgo biloba,tree|Nepenthes rajah,carnivore|Dionaea muscipula,carnivore|
  Taxus baccata,conifer|Salvia rosmarinus,herb|Ocimum basilicum,herb|Victoria amazonica,aquatic`;

const samplesButton = byId('add-samples', HTMLButtonElement);

async function addSamples() {
  let plant = await highestPlant({});
  for (const sample of SAMPLES.split('|')) {
    const [name = '', tag] = sample.trim().split(',');
    plant = { id: await freeId(plant, {}), name, tag };
    await create(plant, {});
    apply([plant]);
  }
}

samplesButton.onclick = async () => {
  samplesButton.disabled = true;
  await addSamples().catch((error) => failed(error));
  samplesButton.disabled = false;
};
onClick('add-first', add);
onClick('import-first', () => byId('import-list', HTMLElement).click());
