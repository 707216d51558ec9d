/** @import { Change, Failed } from './api.js' */
import { create } from './api.js';
import { byId, onClick } from './dom.js';
import { freeId, highestPlant } from './free-id.js';

const SAMPLES = `Monstera deliciosa,houseplant|Pinus longaeva,conifer|Ficus carica,tree|Welwitschia mirabilis|
  Lithops karasmontana,succulent|Ginkgo biloba,tree|Nepenthes rajah,carnivore|Dionaea muscipula,carnivore|
  Taxus baccata,conifer|Salvia rosmarinus,herb|Ocimum basilicum,herb|Victoria amazonica,aquatic`;

/** What an empty store offers: a first plant, a list, or plants to try the page with. */
export function welcome(
  /** @type {{ add(): void, apply(changes: Change[]): void, failed: Failed }} */ { add, apply, failed },
) {
  const button = byId('add-samples', HTMLButtonElement);

  async function addSamples() {
    let plant = await highestPlant({});
    for (const sample of SAMPLES.split('|')) {
      const [name = '', tag] = sample.trim().split(',');
      plant = { id: await freeId(plant, {}), name, tag };
      await create(plant, {});
      apply([plant]);
    }
  }

  button.onclick = async () => {
    button.disabled = true;
    await addSamples().catch((error) => failed(error));
    button.disabled = false;
  };
  onClick('add-first', add);
  onClick('import-first', () => byId('import-list', HTMLElement).click());
}
