import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { containerOf, readManifests } from '../support/documents/manifests.ts';
import { projectFile } from '../support/service-process.ts';

/* A release has one version, which stands in several files. */

const read = (file: string) => readFileSync(projectFile(file), 'utf8');
const { version } = JSON.parse(read('package.json'));

test('the lock file and the newest release of the changelog have that of package.json', () => {
  const lock = JSON.parse(read('package-lock.json'));
  expect([lock.version, lock.packages[''].version]).toEqual([version, version]);
  expect(/^## \[(\d\S*)\] - \d{4}-\d\d-\d\d$/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version);
});

test('the image is labelled with it, and the manifests use the image of that name', async () => {
  expect(/image\.version="(.*?)"/.exec(read('Dockerfile'))?.[1]).toBe(version);
  const { only } = await readManifests();
  const images = [only('Deployment'), only('Job')].map((workload) => containerOf(workload).image);
  expect(images).toEqual([`plant-store:${version}`, `plant-store:${version}`]);
});
