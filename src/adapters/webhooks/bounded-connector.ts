import { buildConnector } from 'undici';

/** Bytes that a socket hands to the parser of HTTP without a request in between, and once more what is read at a time. */
const MAX_READ = 64 * 1024;

/**
 * Connects as undici does, and destroys a socket that is sent too much: undici's parser limits neither the framing of
 * chunks nor informational responses.
 */
export function boundedConnector(timeout: number): buildConnector.connector {
  // HTTP/2 would share one connection, whose limits the receiver sets.
  const connect = buildConnector({ timeout, allowH2: false });
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
