import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../../tooling/free-port.ts';
import { readManifests } from '../documents/manifests.ts';
import { startAsNobody, temporaryFolder } from '../service-process.ts';

/**
 * Starts nginx in front of one instance, until the end of the test, with what F5's controller makes of the annotations
 * of deploy/kubernetes/ingress.yaml: `nginx.org/proxy-buffering: "False"` is `proxy_buffering off`.
 *
 * @returns its URL
 */
export async function startNginx(program: string, apiUrl: string): Promise<string> {
  const { annotations = {} } = (await readManifests()).only('Ingress').metadata ?? {};
  const directives = Object.entries(annotations).map(([name, value]) => {
    const directive = name.replace('nginx.org/', '').replaceAll('-', '_');
    return { directive, line: `${directive} ${value.replace('True', 'on').replace('False', 'off')};` };
  });
  const lines = (isWanted: (directive: string) => boolean) =>
    directives.flatMap(({ directive, line }) => (isWanted(directive) ? [line] : [])).join('\n');

  const folder = await temporaryFolder();
  await chmod(folder, 0o777);
  const port = await freePort();
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const file = join(folder, 'nginx.conf');
  await writeFile(
    file,
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr; events {}
    http {
      access_log off; ${paths.join(' ')}
      upstream pods { server ${new URL(apiUrl).host}; ${lines((directive) => directive === 'keepalive')} }
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; proxy_pass http://pods;
          ${lines((directive) => directive !== 'keepalive')}
        }
      }
    }`,
  );
  const url = `http://127.0.0.1:${port}`;
  const proxy = startAsNobody(program, ['-c', file, '-p', folder]);
  await proxy.eventually(async () => (await fetch(`${url}/openapi.json`).catch(() => undefined))?.ok === true);
  return url;
}
