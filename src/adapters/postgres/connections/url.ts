import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';

/** The configuration that pg needs to connect to a URL: pg has no parameter for the binding of SCRAM to the TLS channel. */
export function driverConfig(url: string): ClientConfig {
  // Parsed here, since pg itself would read the files of certificates for each connection, in the pool, where no caller could
  // learn that they cannot be read. Other parameters would be options of pg.
  const { user, password, host, port, database, ssl, options } = parseIntoClientConfig(url);
  const enableChannelBinding = /[?&]channel_binding=(?!disable(&|$))/.test(url);
  return { user, password, host, port, database, ssl, options, enableChannelBinding };
}
