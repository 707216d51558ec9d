import type { Socket } from 'node:net';
import { connectTo, responsesIn } from '../support/http-bytes.ts';

/** Whom to attack, and with what. */
export interface Target {
  readonly url: string;
  readonly token: string;
  /** Aborts when the attack is over. */
  readonly signal: AbortSignal;
}

/**
 * Opens a connection, lets the attack send what it wants, and waits until the service closes the connection or the
 * attack is over.
 *
 * @returns each answer's status and error number (or `ok`), `closed` if no answer came, or `held` if it was still open
 * when the attack was over
 */
export async function exchange(target: Target, attack: (socket: Socket) => Promise<void>): Promise<string> {
  // A connection that is reset counts as closed.
  const socket = connectTo(target.url).setNoDelay();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1');
  });
  let held = false;
  const end = () => {
    held = !socket.destroyed;
    socket.destroy();
  };
  target.signal.addEventListener('abort', end);
  await attack(socket);
  await closed;
  target.signal.removeEventListener('abort', end);
  return held ? 'held' : answersIn(received) || 'closed';
}

/** Resolves when the bytes are on their way, or the connection is closed. */
export async function send(socket: Socket, bytes: string | Uint8Array): Promise<void> {
  if (socket.destroyed || socket.write(bytes, 'latin1')) return;
  await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve));
}

/** Such as `404 40400 x16`. */
function answersIn(received: string): string {
  const answers = responsesIn(Buffer.from(received, 'latin1'));
  const kinds = Map.groupBy(answers, ({ status, body }) => `${status} ${/^{"error":(\d+)/.exec(body)?.[1] ?? 'ok'}`);
  return [...kinds].map(([kind, all]) => (all.length === 1 ? kind : `${kind} x${all.length}`)).join(', ');
}
