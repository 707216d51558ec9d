/* What columns are called. */

/** What columns are called, in German, English, French, Polish, Spanish, Italian, Dutch, Chinese and Japanese. */
const NAMES = Object.entries({
  id: 'id nr no n nummer num numero numer lp key taxonid plantid catalognumber artikelnr artikelnummer inventarnr inventarnummer inventarnummer accession accessionno accessionnumber numeroinventaire nrinwentarzowy codigo codice volgnummer inventarisnummer plantnummer 编号 編號 番号 管理番号 整理番号',
  name: 'name plant pflanze pflanzenname botanischername lateinischername wissenschaftlichername plantname botanicalname latinname scientificname taxonname title plante nomdelaplante nombotanique nomlatin nomscientifique nom roslina nazwa nazwalacinska nazwabotaniczna planta nombre nombrecientifico nombrebotanico pianta nome nomescientifico nomebotanico plant plantnaam naam botanischenaam wetenschappelijkenaam latijnsenaam 植物名 名称 名稱 学名 學名 名前 植物 品名',
  tag: 'tag type category kategorie gruppe familie gattung family genus categorie famille genre rodzina rodzaj kategoria familia genero categoria famiglia genere geslacht 科 属 屬 科名 属名 分类 分類 類別 类别',
  genus: 'genus gattung genre rodzaj genero genere geslacht 属 属名',
  species: 'species specificepithet epithet art artname espece gatunek especie specie soort 种 種 種小名',
}).map(([role, names]) => /** @type {const} */ ([role, names.split(' ').map(foldName)]));

/** A name without case, accents, spaces and punctuation. Only its beginning counts, since normalize is quadratic. */
export function foldName(name = '') {
  const letters = name.slice(0, 100).normalize('NFKD').toLowerCase();
  return letters.replace(/[\p{M}\p{P}\p{S}\s]/gu, '');
}

/** Columns by what they may be. @typedef {Record<'id' | 'name' | 'tag' | 'genus' | 'species', number[]>} Roles */

/** The columns of each role by what a row calls them. @returns {Roles} */
export function rolesIn(/** @type {(string | undefined)[]} */ cells) {
  const names = cells.map(foldName);
  const columnsOf = (/** @type {string[]} */ all) => names.flatMap((name, n) => (all.includes(name) ? [n] : []));
  return /** @type {Roles} */ (
    Object.fromEntries(NAMES.map(([role, synonyms]) => [role, columnsOf(names.includes(role) ? [role] : synonyms)]))
  );
}
