import { buildConnector, EnvHttpProxyAgent, Pool } from 'undici';

const HEADER_BYTES_MAX = 16 * 1024;

/**
 * Creates what connects to one endpoint. A proxy opens a tunnel, so it never sees more than the host and the port.
 *
 * @param connections the most at the same time
 * @param timeout milliseconds until a connection must stand, or a proxy must respond
 * @param onConnection called for each, also for one that fails
 */
export function dispatcherTo(
  connections: number,
  timeout: number,
  { httpsProxy = '', noProxy = '' }: Pick<EnvHttpProxyAgent.Options, 'httpsProxy' | 'noProxy'>,
  onConnection: () => void,
) {
  // HTTP/2 would share one connection, whose limits the receiver sets.
  const tls = { timeout, allowH2: false };
  return new EnvHttpProxyAgent({
    httpProxy: '',
    httpsProxy,
    noProxy,
    connect: buildConnector(tls),
    requestTls: tls,
    proxyTls: tls,
    factory(origin, options) {
      const { connect } = options as { readonly connect: buildConnector.connector };
      const pool = {
        connections,
        maxHeaderSize: HEADER_BYTES_MAX,
        connect: boundedConnector(connect),
      };
      return new Pool(origin, pool).on('connect', onConnection).on('connectionError', onConnection);
    },
    // Otherwise a proxy that does not respond would hold connections for minutes.
    clientFactory: (proxy, options) => new Pool(proxy, { ...options, headersTimeout: timeout }),
  });
}

/** The most bytes that may arrive after the last request of a connection. A single read of the socket may exceed it. */
const READ_BYTES_MAX = 64 * 1024;

/**
 * Connects as the other connector does, and destroys a socket that is sent too much: undici's parser limits neither the
 * framing of chunks nor informational responses.
 */
function boundedConnector(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result;
      let atLastWrite = { written: 0, read: 0 };
      // Before undici listens, and after TLS.
      socket?.on('readable', () => {
        const { bytesRead: read, bytesWritten: written } = socket;
        if (written > atLastWrite.written) atLastWrite = { written, read };
        else if (read - atLastWrite.read > READ_BYTES_MAX) socket.destroy(new Error('the response is too long'));
      });
      callback(...result);
    });
}
