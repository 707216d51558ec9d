import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A bad network between a service and its database. */
export interface TcpProxy {
  /** The database's address as seen through this network. */
  readonly url: string;
  /** Connections that the service has open. */
  connections(): number;
  /**
   * From now on packets vanish without a reset, also those of new connections, until `pass`. What was open or came
   * meanwhile stays dead even then.
   */
  swallow(): void;
  /** How many packets from the service have vanished. */
  swallowed(): number;
  /** Lets new connections through again. */
  pass(): void;
  /** Resets every connection. */
  cut(): void;
  /**
   * Cuts the connection of the next statement that contains the text: `half` way through the statement, or when the
   * database's `answer` comes, so that the statement is committed and nobody is told.
   *
   * @returns what resolves when that has happened
   */
  cutNext(text: string, where: 'half' | 'answer'): Promise<void>;
  close(): Promise<void>;
}

/**
 * Listens on a free port of the loopback interface and passes on to the database at `target`.
 *
 * @param changed what becomes of the first bytes of a connection
 */
export async function startTcpProxy(
  target: string,
  changed: (opening: Buffer) => Buffer = (opening) => opening,
): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  const dead = new WeakSet<Socket>();
  let swallowing = false;
  let swallowed = 0;
  let cutting: { text: string; where: 'half' | 'answer'; done: () => void } | undefined;

  const server = createServer((service) => {
    open.add(service);
    const database = connect(Number(port), hostname);
    if (swallowing) dead.add(service);
    let answerIsDue = false;
    let isOpening = true;
    service.on('data', (sent) => {
      const bytes = isOpening ? changed(sent) : sent;
      isOpening = false;
      if (dead.has(service)) {
        swallowed++;
        return;
      }
      if (cutting === undefined || !bytes.includes(cutting.text)) {
        database.write(bytes);
        return;
      }
      const { where, done } = cutting;
      cutting = undefined;
      service.once('close', done);
      answerIsDue = where === 'answer';
      if (answerIsDue) database.write(bytes);
      else database.write(bytes.subarray(0, bytes.length / 2), () => service.resetAndDestroy());
    });
    database.on('data', (bytes) => {
      if (answerIsDue) service.resetAndDestroy();
      else if (!dead.has(service)) service.write(bytes);
    });
    for (const socket of [service, database]) socket.on('error', () => {});
    service.on('close', () => {
      open.delete(service);
      database.destroy();
    });
    // A network that swallows packets does not tell of the other end's death either.
    database.on('close', () => dead.has(service) || service.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cut = () => {
    for (const socket of open) socket.resetAndDestroy();
  };
  return {
    url: url.href,
    connections: () => open.size,
    swallow() {
      swallowing = true;
      for (const socket of open) dead.add(socket);
    },
    swallowed: () => swallowed,
    pass() {
      swallowing = false;
    },
    cut,
    cutNext(text, where) {
      const { promise, resolve } = Promise.withResolvers<void>();
      cutting = { text, where, done: resolve };
      return promise;
    },
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
