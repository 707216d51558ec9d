import { Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';

/**
 * A client whose configuration is determined when it is made, for pg's pool, which has one for all; and which closes
 * without waiting for the other end, which on a dead network never responds.
 *
 * @param current what differs from the pool's configuration now @param onError called when a connection is lost
 */
export function poolClientClass(current: () => ClientConfig, onError: (error: Error) => void): typeof Client {
  // pg's documented way to make clients of one's own is a class (its option `Client`).
  return class extends Client {
    readonly #socket: Socket;

    constructor(config?: ClientConfig) {
      const socket = new Socket();
      super({ ...config, ...current(), stream: () => socket });
      this.#socket = socket;
      // The pool listens to idle clients only; an error of one that is checked out would end the process.
      this.on('error', onError);
    }

    override async end(onEnd?: (error: Error) => void): Promise<void> {
      const ended = onEnd === undefined ? super.end() : super.end(onEnd);
      this.#socket.destroySoon();
      await ended;
    }
  };
}
