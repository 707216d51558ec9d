import type { Socket } from 'node:net';
import { connectTo, responsesIn } from '../support/http-bytes.ts';

/** Whom to attack, and with what. */
export interface Target {
  readonly url: string;
  readonly token: string;
  /** Aborts when the attack is over. */
  readonly signal: AbortSignal;
}

export interface Exchange {
  /** Resolves when the bytes are on their way, or the connection is closed. */
  send(bytes: string | Uint8Array): Promise<void>;
  readonly isOpen: boolean;
  /** Stops reading, for a client that takes no answers. */
  deafen(): void;
  /** Breaks the connection off. */
  reset(): void;
}

/**
 * Opens a connection, lets the attack send what it wants, and waits until the service closes the connection or the
 * attack is over.
 *
 * @returns each answer's status and error number (or `ok`), `closed` if no answer came, or `held` if it was still open
 * when the attack was over
 */
export async function exchange(target: Target, attack: (connection: Exchange) => Promise<void>): Promise<string> {
  // A connection that is reset counts as closed.
  const socket = connectTo(target.url).setNoDelay();
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
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
  await attack({
    send: (bytes) => sent(socket, bytes, closed),
    get isOpen() {
      return !socket.destroyed && !target.signal.aborted;
    },
    deafen: () => void socket.pause(),
    reset: () => void socket.resetAndDestroy(),
  });
  await closed;
  target.signal.removeEventListener('abort', end);
  return held ? 'held' : answersIn(received) || 'closed';
}

function sent(socket: Socket, bytes: string | Uint8Array, closed: Promise<void>): Promise<void> {
  const flushed = new Promise<void>((resolve) => {
    if (socket.destroyed || socket.write(bytes, 'latin1')) resolve();
    else socket.once('drain', resolve);
  });
  return Promise.race([flushed, closed]);
}

/** Such as `404 40400 x16`. */
function answersIn(received: string): string {
  const answers = responsesIn(Buffer.from(received, 'latin1'));
  const kinds = Map.groupBy(answers, ({ status, body }) => `${status} ${/^{"error":(\d+)/.exec(body)?.[1] ?? 'ok'}`);
  return [...kinds].map(([kind, all]) => (all.length === 1 ? kind : `${kind} x${all.length}`)).join(', ');
}
