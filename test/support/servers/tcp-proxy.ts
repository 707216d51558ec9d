import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { atEndOrBefore } from '../lifetimes.ts';
import { listening } from './local-server.ts';

/**
 * What becomes of what a client sends: half of it arrives and the connection is cut; all arrives, and the connection is
 * cut at the response, so that a statement is committed and nobody learns of it; the response comes in one packet with
 * the announcement that the server shuts down, or something else comes in its place; or it arrives once `deliverLate` is
 * called, whether the client has closed the connection by then or not, as from a socket's buffer.
 */
type Fault = 'half' | 'answer' | 'shutdown' | 'garbage' | 'late';

/** https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-ERRORRESPONSE */
const SHUTDOWN = 'E\0\0\0\x48SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0';

/** A message of a type that there is not. */
const GARBAGE = '0\0\0\0\x04';

/** A bad network between a service and its database. */
export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

/**
 * Listens on a free port of the loopback interface and passes on to the database at `target`, until the end of the test.
 *
 * @param changed what becomes of the first bytes of a connection
 */
export async function startTcpProxy(target: string, changed: (opening: Buffer) => Buffer = (opening) => opening) {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  const dead = new WeakSet<Socket>();
  let swallowing = false;
  let swallowed = 0;
  let decide: (sent: Buffer, service: Socket, isOpening: boolean) => Fault | undefined = () => undefined;
  const late: (() => Promise<void>)[] = [];

  const server = createServer((service) => {
    open.add(service);
    const database = connect(Number(port), hostname);
    if (swallowing) dead.add(service);
    let atAnswer: Fault | undefined;
    let isOpening = true;
    let isLate = false;

    async function deliver(bytes: Buffer): Promise<void> {
      const responded = Promise.race([once(database, 'data'), once(database, 'close')]).catch(() => {});
      database.write(bytes);
      await responded;
      isLate = false;
      if (service.destroyed) database.destroy();
    }

    service.on('data', (sent) => {
      const fault = decide(sent, service, isOpening);
      const bytes = isOpening ? changed(sent) : sent;
      isOpening = false;
      if (dead.has(service)) {
        swallowed++;
      } else if (fault === 'late') {
        isLate = true;
        late.push(() => deliver(bytes));
      } else if (fault === 'half') {
        database.write(bytes.subarray(0, bytes.length / 2), () => service.resetAndDestroy());
      } else {
        atAnswer ??= fault;
        database.write(bytes);
      }
    });
    database.on('data', (bytes) => {
      if (atAnswer === 'answer') service.resetAndDestroy();
      else if (atAnswer === 'shutdown') service.end(Buffer.concat([bytes, Buffer.from(SHUTDOWN)]));
      else if (atAnswer === 'garbage') service.end(GARBAGE);
      else if (!dead.has(service)) service.write(bytes);
    });
    for (const socket of [service, database]) socket.on('error', () => {});
    service.on('close', () => {
      open.delete(service);
      if (!isLate) database.destroy();
    });
    // A network that swallows packets does not tell of the other end's death either.
    database.on('close', () => dead.has(service) || service.destroy());
  });
  const url = new URL(target);
  url.host = `127.0.0.1:${await listening(server)}`;
  async function deliverLate(): Promise<void> {
    await Promise.all(late.splice(0).map((deliver) => deliver()));
  }
  const close = atEndOrBefore(async () => {
    decide = () => undefined;
    await deliverLate();
    for (const socket of open) socket.resetAndDestroy();
    server.close();
    await once(server, 'close');
  });
  return {
    /** The database's address as seen through this network. */
    url: url.href,
    /** Connections that the service has open. */
    connections: () => open.size,
    /**
     * From now on packets vanish without a reset, also those of new connections, until `pass`. What was open or came
     * meanwhile stays dead even then.
     */
    swallow() {
      swallowing = true;
      for (const socket of open) dead.add(socket);
    },
    /** How many packets from the service have vanished. */
    swallowed: () => swallowed,
    /** Lets new connections through again. */
    pass() {
      swallowing = false;
    },
    /** Has this become of the next statement that contains the text. @returns what resolves when that has happened */
    cutNext(text: string, where: Exclude<Fault, 'late'>): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      decide = (sent, service) => {
        if (!sent.includes(text)) return undefined;
        decide = () => undefined;
        service.once('close', resolve);
        return where;
      };
      return promise;
    },
    /** From now on decides what becomes of everything that a client sends after its first packet; undefined lets it pass. */
    interfere(faultOf: (sent: Buffer, client: Socket) => Fault | undefined): void {
      decide = (sent, client, isOpening) => (isOpening ? undefined : faultOf(sent, client));
    },
    /** Delivers what was held back. Resolves once the database has responded to all of it. */
    deliverLate,
    close,
  };
}
