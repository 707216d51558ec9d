import type { ConnectionOptions } from 'node:tls';
import { Connection, type PoolClient } from 'pg';

/** Milliseconds that a cancel request may take. */
const CANCEL_TIMEOUT = 2_000;

/** What pg's types leave out. */
interface ClientInternals {
  readonly host: string;
  readonly port: number;
  readonly processID: number;
  readonly secretKey: number;
  readonly ssl: boolean | ConnectionOptions;
  readonly sslNegotiation: 'postgres' | 'direct';
}
interface ConnectionInternals extends Connection {
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
}

/**
 * Asks Postgres to cancel what the client runs; the client then gets the error 57014. By the protocol's own message,
 * on a connection of its own, since PgBouncer passes that on and pg_cancel_backend would not know its process ids
 * (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS). That connection is as
 * secure as the client's, since the message carries the key to cancel with: pg's own Client.cancel sends it in the clear.
 */
export function cancelRunning(client: PoolClient): void {
  const { host, port, processID, secretKey, ssl, sslNegotiation } = client as unknown as ClientInternals;
  const connection = new Connection({ ssl, sslNegotiation } as object) as ConnectionInternals;
  const send = () => connection.cancel(processID, secretKey);
  connection.on('connect', () => {
    if (!ssl) send();
    else if (sslNegotiation !== 'direct') connection.requestSsl();
  });
  connection.on('sslconnect', send);
  // If it cannot be sent, the statement's second time-out closes the connection.
  connection.on('error', () => {});
  // It holds no process open that has nothing else to do.
  const timer = setTimeout(() => connection.stream.destroy(), CANCEL_TIMEOUT).unref();
  // Postgres answers nothing and closes.
  connection.on('end', () => clearTimeout(timer));
  if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
  else connection.connect(port, host);
}
