import { Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';

/**
 * A client for pg's pool whose configuration is determined when the client is made, where the pool has the same for all.
 * It closes without waiting for the server, which on a dead network never responds.
 *
 * @param current what differs from the pool's configuration now
 * @param onError called when a connection is lost
 */
export function poolClientClass(current: () => ClientConfig, onError: (error: Error) => void): typeof Client {
  // pg's documented way to make other clients is a class (its option `Client`).
  return class extends Client {
    readonly #socket: Socket;

    constructor(config?: ClientConfig) {
      const socket = new Socket();
      super({ ...config, ...current(), stream: () => socket });
      this.#socket = socket;
      // The pool listens to idle clients only; an error of a client that is checked out would end the process.
      this.on('error', onError);
    }

    override async end(onEnd?: (error: Error) => void): Promise<void> {
      const ended = onEnd === undefined ? super.end() : super.end(onEnd);
      this.#socket.destroySoon();
      await ended;
    }
  };
}
