import type { buildConnector } from 'undici';

/** Bytes that a socket hands to the parser of HTTP without a request in between, and once more what is read at a time. */
const MAX_READ = 64 * 1024;

/**
 * Connects as the other connector does, and destroys a socket that is sent too much: undici's parser limits neither the
 * framing of chunks nor informational responses.
 */
export function boundedConnector(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result;
      let atLastWrite = { written: 0, read: 0 };
      // Before undici listens, and after TLS.
      socket?.on('readable', () => {
        const { bytesRead: read, bytesWritten: written } = socket;
        if (written > atLastWrite.written) atLastWrite = { written, read };
        else if (read - atLastWrite.read > MAX_READ) socket.destroy(new Error('the response is too long'));
      });
      callback(...result);
    });
}
